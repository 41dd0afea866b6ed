# args: -o cli_output_is_input.g
# exit: 2
let N = 3
