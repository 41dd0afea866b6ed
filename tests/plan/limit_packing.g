# RUN: %gc %S/../../docs/examples/vgg.g --memory-limit=250M --plan-timeout=0.1 --dump-plan=json > %t.json
# RUN: test "$(sed -n 's/.*"arena_bytes": \([0-9]*\).*/\1/p' %t.json | head -1)" -le 262144000
# Little time to pack loses a tenth of the bytes: the number of micro-batches is chosen by live bytes, not by
# what such an arena has, and schedules become tighter until one is packed.
