def (x) {
  return x
}
