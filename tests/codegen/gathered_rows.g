# RUN: %gc --target=cpu --print-schedules %s | FileCheck-14 %s
# A gather moves the rows that it picks, not the whole table; one that picks more than there are moves it once at most.
# CHECK: cpu k{{[0-9]+}}_gather {{.*}} bytes=2412 launches=1 entries=few
# CHECK: cpu k{{[0-9]+}}_gather {{.*}} bytes=10080 launches=1 entries=many
entry few(ids : i32[3], t : f32[5000, 100]) { return y = gather(t, ids) }
entry many(ids : i32[20], t : f32[5, 100]) { return y = gather(t, ids) }
