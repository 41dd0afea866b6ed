# lenet.g: a small convolutional net that learns handwritten digits
let N = 50                                    # images of a step, at most
hyper lr = 2e-3

def net(image : u8[n, 784]) {
  x = reshape(f32(image) / 255, [n, 1, 28, 28])
  x = x |> conv(6, 5) as c1 |> relu |> max_pool(2)            # [n, 6, 14, 14]
  x = x |> conv(16, 5, pad = 0) as c2 |> relu |> max_pool(2)  # [n, 16, 5, 5]
  x = x |> flatten |> linear(120) as f3 |> relu |> linear(84) as f4 |> relu
  return linear(x, 10) as f5
}

entry train(image : u8[n <= N, 784], label : u8[n]) {
  logits = net(image)
  loss = mean(xent(logits, label))
  minimize loss with adamw(lr, decay = 0.01)
  return loss, accuracy = mean(argmax(logits) == label)
}

entry test(image : u8[n <= N, 784], label : u8[n]) {
  return accuracy = mean(argmax(net(image)) == label)
}

entry predict(image : u8[1, 784]) {
  return digit = argmax(net(image)), p = softmax(net(image))
}
