# The same program has the same plan in every run: nothing depends on addresses, on time or on the environment.
# RUN: for f in chars lenet lstm mnist resnet20 seq2seq trap vae vgg; do %gc %S/../../docs/examples/$f.g --target=cpu -march=x86-64-v3 --dump-plan=json > %t.$f.once && MORE=`head -c 5000 %s` nice %gc %S/../../docs/examples/$f.g --target=cpu -march=x86-64-v3 --dump-plan=json > %t.$f.again && cmp %t.$f.once %t.$f.again || exit 1; done
# RUN: split-file-14 %s %t
# RUN: cd %t/alone && %gc net.g --dump-plan=json | sed -n '/"name": "train"/,/"name": "other"/{/"id"/s/[],}]*$//p}' > %t.alone
# RUN: cd %t/crowd && %gc net.g --dump-plan=json | sed -n '/"name": "train"/,/"name": "other"/{/"id"/s/[],}]*$//p}' > %t.crowd
# RUN: grep -c '"how": "inplace"' %t.alone && cmp %t.alone %t.crowd
# Another entry behind it changes nothing in an entry's plan.
#--- alone/net.g
entry train(x : f32[64, 100], t : f32[64, 10]) {
  loss = mse(linear(tanh(linear(x, 80) as a), 10) as b, t)
  minimize loss with sgd(0.1)
  return loss
}
#--- crowd/net.g
entry train(x : f32[64, 100], t : f32[64, 10]) {
  loss = mse(linear(tanh(linear(x, 80) as a), 10) as b, t)
  minimize loss with sgd(0.1)
  return loss
}
entry other(x : f32[300, 100]) {
  h = softmax(tanh(x) @ transpose(x))
  return loss = sum(h * h), t = exp(x)
}
