#!/bin/sh
# cross.sh DIR: zlib for aarch64, of which the runtime of its programs is made, from Debian's package in DIR. The
# system's own packages and their architectures stay as they are. Prints the folder that holds usr/lib.
set -eu
[ "$(uname -m)" != aarch64 ] || exit 1 # it is tested as any other machine is
dir=$1 root=$1/root
if [ ! -r "$root/usr/lib/aarch64-linux-gnu/libz.a" ]; then
  mkdir -p "$dir/state/lists/partial" "$dir/cache/archives/partial"
  cd "$dir"
  apt() {
    apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State="$dir/state" \
      -o Dir::State::status=/dev/null -o Dir::Cache="$dir/cache" -o APT::Sandbox::User="$(id -un)" "$@"
  }
  { apt update && apt download zlib1g-dev && dpkg-deb -x zlib1g-dev_*.deb "$root"; } >&2 || {
    echo 'zlib for aarch64 could not be had: programs for it are not tested' >&2
    exit 1
  }
  rm -rf "$dir/state" "$dir/cache" zlib1g-dev_*.deb
fi
echo "$root"
