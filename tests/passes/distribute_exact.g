# With --exact the ranks sum whole gradients of gathered rows, and an entry of one rank would leave passes out to need no more
# memory than as it is written. It goes by the program of one process, which here leaves out none, so that gradients are added
# in one order.
# RUN: %gc %S/../../docs/examples/bert.g -D T=6 -D vocab_size=24 -D hidden_size=16 -D num_hidden_layers=1 -D num_attention_heads=2 -D max_position_embeddings=8 -D type_vocab_size=10 \
# RUN:   -D num_labels=10 -D mask_token_id=3 -D N=16 -march=x86-64-v3 -O2 --exact --remarks=fuse --emit=plan -o %t.plan --data-parallel=mpi --ranks=8 2>&1 | FileCheck-14 %s
# RUN: %gc %S/../../docs/examples/bert.g -D T=6 -D vocab_size=24 -D hidden_size=16 -D num_hidden_layers=1 -D num_attention_heads=2 -D max_position_embeddings=8 -D type_vocab_size=10 \
# RUN:   -D num_labels=10 -D mask_token_id=3 -D N=16 -march=x86-64-v3 -O2 --exact --remarks=fuse --emit=plan -o %t.plan 2>&1 | FileCheck-14 %s
# CHECK-NOT: fuse-limited
# CHECK: remark: {{.*}} [fuse]
# CHECK-NOT: fuse-limited
