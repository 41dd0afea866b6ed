def f(x) {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
if x {
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
}
