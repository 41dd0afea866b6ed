#!/usr/bin/env bash
# The documentation says what the compiler says: tables equal what is printed, every program in a
# ```g block compiles, every link leads to a file and a heading.
#   tests/docs.sh GC ROOT [--update]     --update writes the tables into the pages
# A table stands between "<!-- from SOURCE -->" and "<!-- end -->"; docs/ops.md is one table. A SOURCE
# "gc …" is run in docs/examples; between "<!-- lines of gc … -->" and "<!-- end -->" stand lines that it
# prints, blanks aside, but for one with a "…". Commands there name the processor, so that their output is one.
set -euo pipefail
gc=$(realpath "$1") root=$(realpath "$2") update=${3:-}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
. "$root/tests/dumped.sh"
pages=("$root"/README.md "$root"/docs/*.md)
bad=0
complain() {
  echo "$*" >&2
  bad=1
}

# In the order of the table.
prelude=(layers.g adapters.g recurrent.g attention.g activations.g losses.g metrics.g shapes.g sequences.g augment.g finite.g initialisers.g optimizers.g)
[ "$(printf '%s\n' "${prelude[@]}" | sort)" = "$(cd "$root/lang/prelude" && ls -- *.g | sort)" ] ||
  complain 'the table of the prelude leaves out a file of lang/prelude'

# Each `def` of the prelude with the comment above it, else its body if that is one line, and
# its params and states, with the paths of the calls inside.
prelude_table() {
  printf '| function | meaning | params and states |\n|---|---|---|\n'
  awk '
    function keep(what) {
      if (!index(kept, "`" what "`")) kept = kept (kept == "" ? "" : ", ") "`" what "`" (asked ? " if enabled" : "")
    }
    function end_row() { if (call != "") printf "| `%s` | %s | %s |\n", call, said, kept; call = said = kept = "" }
    /^# ----/ { sub(/^# -+ */, ""); sub(/ *-+$/, ""); printf "| | **%s** | |\n", $0; said = ""; next }
    /^# / { sub(/^# /, ""); said = said == "" ? $0 : said " " $0; next }
    /^def / {
      while ($0 !~ /{/ && (getline more) > 0) { sub(/^ +/, " ", more); $0 = $0 more }
      sub(/^def /, "")
      at = index($0, "{")
      call = substr($0, 1, at - 1); rest = substr($0, at + 1)
      sub(/ *$/, "", call); sub(/^ */, "", rest)
      if (said == "" && rest ~ /^return /) {
        sub(/^return /, "", rest); sub(/ *} *$/, "", rest)
        said = "`" rest "`"
      }
      if ($0 ~ /}$/) end_row()
      next }
    /^}/ { end_row(); next }
    { asked = /^    / } # it stands under an if
    / (param|state) / { sub(/^ *(param|state) /, ""); sub(/ = .*/, ""); keep($0); next }
    /\) as [a-z_0-9]+/ { # the call that ends there: back to its parenthesis
      at = match($0, /\) as [a-z_0-9]+/)
      name = substr($0, at + 5, RLENGTH - 5)
      for (depth = 1; depth && at > 1; ) {
        c = substr($0, --at, 1)
        depth += (c == ")") - (c == "(")
      }
      callee = substr($0, 1, at - 1); sub(/.*[^a-z_0-9]/, "", callee)
      keep(name " of " callee) }
    /^$/ { if (call == "") said = "" }' "${prelude[@]/#/$root/lang/prelude/}"
}

# The rows of runtime/program/options.def.
program_options() {
  printf '| option | entries | meaning |\n|---|---|---|\n'
  sed -nE 's/^OPT\([A-Z]+, *"([^"]*)", *("([^"]*)"|NULL), *[A-Z]+, *([A-Z]+), *"(.*)"\)$/\1\t\3\t\4\t\5/p' \
    "$root/runtime/program/options.def" |
    awk -F'\t' 'BEGIN { w["ALL"] = "all"; w["TRAIN"] = "training"; w["INFER"] = "inference" }
      { gsub(/\|/, "\\|"); printf "| `--%s%s` | %s | %s |\n", $1, $2 == "" ? "" : " " $2, w[$3], $4 }'
}

# A row for each example: what its first comment says, its lines, parameters, and the arena of its training step.
examples_table() {
  local file name json
  printf '| program | model | lines | parameters, MB | memory, MB |\n|---|---|---|---|---|\n'
  for file in "$root"/docs/examples/*.g; do
    name=$(basename "$file")
    json=$(dumped "$gc" "$file" | tr -d '\n' |
      grep -oE '"(globals_bytes|arena_bytes|training)": *[0-9a-z]+' | tr '\n' ' ')
    awk -v name="$name" -v json="$json" '
      function number(text, key) { return match(text, "\"" key "\": *[0-9]+") ? substr(text, RSTART, RLENGTH) : "" }
      function mb(text) { sub(/.*: */, "", text); return sprintf("%.1f", text / 1048576) }
      NR == 1 { said = $0; sub(/^# [a-z0-9_.]*: /, "", said) }
      NR > 1 && /^# / && open { said = said " " substr($0, 3) }
      NR == 1 || open { open = said !~ /[.;:]/ && !/^[^#]/ }
      END {
        sub(/[.;:(].*/, "", said); sub(/ +$/, "", said)
        globals = number(json, "globals_bytes")
        at = match(json, /"training": *true/)
        arena = number(at ? substr(json, at) : json, "arena_bytes")
        printf "| [%s](examples/%s) | %s | %d | %s | %s |\n", name, name, said, NR, mb(globals), mb(arena)
      }' "$file"
  done
}

# What gc answers to names of other libraries: the rows of hints.def.
hints_table() {
  printf '| PyTorch, NumPy | gc |\n|---|---|\n'
  sed -nE 's/^HINT\(CALL, *"([^"]*)", *"(.*)"\)$/\1\t\2/p' "$root/lang/syntax/hints.def" |
    awk -F'\t' '{ gsub(/\\"/, "\"", $2); gsub(/\|/, "\\|", $2); printf "| `%s` | `%s` |\n", $1, $2 }'
}

# The plan of an example's first entry as a picture.
plan_picture() {
  (cd "$root/docs/examples" && "$gc" lenet.g -O2 -march=x86-64-v3 --dump-plan=svg) |
    awk '/^<svg/ { sub(/height="[0-9]+"/, "height=\"540\""); sub(/viewBox="0 0 [0-9]+ [0-9]+"/, "viewBox=\"0 0 1130 540\"") }
      /^<g class="entry"/ { n++ } n < 2 { print }
      END { print "</svg>" }'
}

print_source() {
  case $1 in
    docs/examples) examples_table ;;
    lang/syntax/hints.def) hints_table ;;
    "gc --list-passes") printf '```\n' && "$gc" --list-passes && printf '```\n' ;;
    "gc --help="*) "$gc" "${1#gc }" ;;
    "gc "*) # a command as a reader would type it beside the examples, and all that it says
      printf '```\n$ %s\n' "$1"
      read -ra words <<<"${1#gc }"
      (cd "$root/docs/examples" && "$gc" "${words[@]}" 2>&1) && printf '```\n' ;;
    lang/prelude) prelude_table ;;
    runtime/program/options.def) program_options ;;
    *) complain "unknown source of a table: $1" ;;
  esac
}

# Replaces what stands between the marks of a page.
renew() {
  local line source="" printed="$scratch/printed"
  while IFS= read -r line || [ -n "$line" ]; do
    if [[ $line == "<!-- end -->" ]]; then source=""; fi
    if [ -z "$source" ]; then printf '%s\n' "$line"; fi
    if [[ $line =~ ^'<!-- from '(.*)' -->'$ ]]; then
      source=${BASH_REMATCH[1]}
      print_source "$source" >"$printed"
      cat "$printed"
    fi
  done <"$1"
}

# Every room of the sources is named in the page of the architecture.
while IFS= read -r room; do
  grep -qF "\`$room\`" "$root/docs/architecture.md" || complain "docs/architecture.md leaves out $room"
done < <(cd "$root" && find ir passes codegen lang runtime -name '*.[chglyd]*' -printf '%h\n' | sort -u)

# The front page's figures are those of the results, rounded.
while IFS='|' read -r _ model figures; do
  row=$(grep -F "|$model|" "$root/docs/results.md" | head -n 1)
  [ "$(tr -d ' ,' <<<"$figures")" = "$(cut -d'|' -f3- <<<"$row" | tr -d ' ,' | awk -F'|' '{ for (i = 1; i < NF; i++) printf "%.0f|", $i }')" ] ||
    complain "README.md and docs/results.md differ about$model"
done < <(sed -n '/^| model | gc |/,/^$/p' "$root/README.md" | sed '1,2d; /^$/d')

plan_picture >"$scratch/plan.svg"
if [ "$update" = --update ]; then
  cp "$scratch/plan.svg" "$root/docs/pictures/plan.svg"
elif ! cmp -s "$scratch/plan.svg" "$root/docs/pictures/plan.svg"; then
  complain "docs/pictures/plan.svg is not what gc draws; run tests/docs.sh GC ROOT --update"
fi

for page in "${pages[@]}"; do
  if [[ $page == */ops.md ]]; then
    "$gc" --help=ops-md >"$scratch/page"
  else
    renew "$page" >"$scratch/page"
  fi
  cmp -s "$page" "$scratch/page" && continue
  if [ "$update" = --update ]; then
    cat "$scratch/page" >"$page"
  else
    diff -u "$page" "$scratch/page" >&2 || true
    complain "${page#"$root"/} differs from what is printed; run tests/docs.sh GC ROOT --update"
  fi
done

# An excerpt: every line is one of the command's.
check_lines() {
  local line on="" words whole
  while IFS= read -r line; do
    if [[ $line =~ ^'<!-- lines of gc '(.*)' -->'$ ]]; then
      on=1
      read -ra words <<<"${BASH_REMATCH[1]}"
      whole=$scratch/said.$(cksum <<<"${words[*]}" | tr ' ' .) # several excerpts are of one command
      [ -e "$whole" ] || (cd "$root/docs/examples" && "$gc" "${words[@]}" 2>&1) | tr -s ' ' | sed 's/^ //' >"$whole"
    elif [[ $line == "<!-- end -->" ]]; then
      on=""
    elif [ -n "$on" ] && [[ $line != '```'* && $line != *…* ]]; then
      tr -s ' ' <<<"$line" | sed 's/^ //' | grep -qxFf - "$whole" ||
        complain "${1#"$root"/}: gc ${words[*]} does not print: $line"
    fi
  done <"$1"
}
for page in "${pages[@]}"; do check_lines "$page"; done

# The anchors of a page's headings, as GitHub makes them.
anchors() {
  sed '/^```/,/^```/d' "$1" | sed -nE 's/^#+ +//p' | tr '[:upper:]' '[:lower:]' | sed -E 's/[^a-z0-9 _-]//g; s/ /-/g'
}
for page in "${pages[@]}"; do
  rm -f "$scratch"/block*
  awk -v to="$scratch/block" '/^<!-- part of/ { part = 1; next }
    /^```g$/ && !part { on = 1; n++; next } /^```/ { on = part = 0 }
    on { print > (to n ".g") }' "$page"
  for block in "$scratch"/block*.g; do
    [ -e "$block" ] && grep -q '^entry ' "$block" || continue
    "$gc" "$block" --emit=ir -o "$scratch/out.ir" 2>"$scratch/said" ||
      { cat "$block" "$scratch/said" >&2; complain "${page#"$root"/}: a program does not compile"; }
  done
  while IFS= read -r link; do
    file=${link%%#*} to=$page
    [ -n "$file" ] && to=$(dirname "$page")/$file
    [ -e "$to" ] || complain "${page#"$root"/}: no file $link"
    [[ $link != *'#'* ]] || anchors "$to" | grep -qxF "${link#*#}" || complain "${page#"$root"/}: no heading $link"
  done < <(grep -oE '\]\([^)]+\)' "$page" | sed -E 's/^\]\((.*)\)$/\1/' | grep -vE '^https?:' || true)
done
exit $bad
