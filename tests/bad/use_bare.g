use nn.g
