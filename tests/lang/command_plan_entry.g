# RUN: %gc %s train --dump-plan >%t.txt && grep -c '^entry ' %t.txt | grep -x 1 && grep -q '^entry train: training' %t.txt
# RUN: %gc %s train --dump-plan=json >%t.json && python3 -c 'import json,sys; assert [e["name"] for e in json.load(sys.stdin)["entries"]] == ["train"]' <%t.json
# RUN: for form in csv svg html trace; do %gc %s test --dump-plan=$form >%t.$form && not-14 grep -q '\btrain\b' %t.$form || exit 1; done
# RUN: %gc %s train --dump-plan=html --memory-limit=1M >%t.html && not-14 grep -q '\btest\b' %t.html
# RUN: (%gc %s trai --dump-plan || echo $?) 2>&1 | grep -A1 'g has no entry .trai.; did you mean train?$' | grep -x 2
# RUN: (%gc %s serve --dump-plan || echo $?) 2>&1 | grep -A1 'g has no entry .serve.; it has test, train$' | grep -x 2
# The plan of the entry that is named behind the program.
def net(x : f32[8, 4]) { return mean(linear(x, 4) ** 2) }
entry test(x : f32[8, 4]) { return y = net(x) }
entry train(x : f32[8, 4]) {
  loss = net(x)
  minimize loss with sgd(0.1)
  return loss
}
