# RUN: split-file-14 %s %t
# RUN: %gc --format %t/wild.g | diff %t/tame.g -
# RUN: %gc --format %t/tame.g | diff %t/tame.g -
# RUN: %gc --format %t/wild.g -o %t/same.g && diff %t/tame.g %t/same.g && ln -s wild.g %t/link.g && %gc --format %t/link.g -o %t/link.g && test -L %t/link.g && diff %t/tame.g %t/wild.g
# RUN: %gc --format=check %t/tame.g && (%gc --format=check %t/half.g || echo $?) 2>&1 | FileCheck-14 --check-prefix=HALF %s
# RUN: (%gc --format %t/wrong.g -o %t/wrong.g || echo $?) 2>&1 | FileCheck-14 --check-prefix=WRONG %s && grep -q '^entry e( {$' %t/wrong.g
# RUN: (%gc --format %t/tame.g -o %t/precious.txt || echo $?) 2>&1 | grep -A1 'would replace .*precious.txt, which gc did not write' | grep -x 2 && grep -qx precious %t/precious.txt
# RUN: for o in -O2 --check --emit=ir -DN=1; do (%gc --format %t/tame.g $o || echo $?) 2>&1; done | grep -A1 'does not go with --format' | grep -cx 2 | grep -x 4
# RUN: (%gc --format=check %t/tame.g -o %t/x || echo $?) 2>&1 | grep -A1 'writes nothing: leave out -o' | grep -x 2
# RUN: for f in %S/../../docs/examples/*.g %S/../../lang/prelude/*.g; do %gc --format=check $f || exit 1; done
# The examples and the prelude are in the one style.
# HALF: half.g:2:1: error: the program is not formatted, from this line on
# HALF: hint: gc --format {{.*}}half.g -o {{.*}}half.g
# HALF: 1
# WRONG: wrong.g:1:10: error:
# WRONG: 1

#--- wild.g


# what it is for   
let  N=3   # a number
let the_long_name_of_a_list=[ 1,2,-3 , N- 1 ,4]   # longer than the column
let other_name_of_a_list=[1,2,-3,N-1,55555]# next to it

hyper lr = -1e-3
hyper  topk :i32=40


def f(x:[...,b,d],k:ints=(-1),...more){
# in a body

  y=x[:,1:-1,N-1:][...,0]';z = - -y**-2
  if not(b==1)and d>2{return y}else{ z=f32( z ) }
      w = g(x,
   axis=0,   # inner
          keep=true)
  v = g(
  x,
        [1,2]
  )
     u = y +
z
  return u
  |>relu
    |> g(a=1) as h[ 0 ]

}
def g(x,a=0,axis=0,keep:flag=false){for i in 0..len(x){scope s[i]{
x=x}}
x=scan i in 0..(N+1){ yield x }
return x@x'}
entry e(x:f32[N]) {  }
#--- tame.g
# what it is for
let N = 3                                     # a number
let the_long_name_of_a_list = [1, 2, -3, N - 1, 4]   # longer than the column
let other_name_of_a_list = [1, 2, -3, N - 1, 55555]  # next to it

hyper lr = -1e-3
hyper topk : i32 = 40

def f(x : [..., b, d], k : ints = (-1), ...more) {
  # in a body

  y = x[:, 1:-1, N - 1 :][..., 0]'; z = --y ** -2
  if not (b == 1) and d > 2 { return y } else { z = f32(z) }
  w = g(x,
        axis = 0,                             # inner
        keep = true)
  v = g(
    x,
    [1, 2]
  )
  u = y +
      z
  return u
      |> relu
      |> g(a = 1) as h[0]
}
def g(x, a = 0, axis = 0, keep : flag = false) { for i in 0..len(x) { scope s[i] {
  x = x } }
  x = scan i in 0..(N + 1) { yield x }
  return x @ x' }
entry e(x : f32[N]) {}
#--- half.g
let N = 3
let M=4
#--- wrong.g
entry e( {
#--- precious.txt
precious
