#!/bin/sh
# Installs what is missing to build gc (and with `tests`, to test it) from Debian's packages.
#   sh docs/install.sh [tests]
# Needs root or sudo only if something is missing.
set -eu
packages="gcc libc6-dev make cmake flex bison zlib1g-dev libpng-dev libjpeg62-turbo-dev libxxhash-dev libjansson-dev libzip-dev nettle-dev protobuf-c-compiler libprotobuf-c-dev"
[ "${1:-}" = tests ] && packages="$packages g++ pkgconf python3 python3-venv python3-numpy clang-16 clang-tidy-16 clang-format-14 llvm-14-tools libcmocka-dev strace neovim zsh fish man-db chromium gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user libopenmpi-dev openmpi-bin libmpich-dev mpich"
missing=""
for p in $packages; do
  dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing="$missing $p"
done
[ -z "$missing" ] && exit 0
echo "installing:$missing"
if [ "$(id -u)" = 0 ]; then
  run=""
elif command -v sudo >/dev/null; then
  run="sudo"
else
  echo "these Debian packages are missing, and neither root nor sudo is at hand:$missing" >&2
  exit 3
fi
$run apt-get update -qq
# shellcheck disable=SC2086
$run env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
