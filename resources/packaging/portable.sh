#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# portable.sh PROGRAMS OUT VERSION [--cuda]: packs the programs of a build into OUT/retrograde-VERSION-x86_64.tar.xz, a
# folder that runs where it is unpacked, without root. With --cuda it is called …-x86_64-cuda and has the CUDA back end.
# `./install-desktop` in it adds desktop file, icon and file types for this user.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
programs=$1 out=$2 version=$3
cuda=${4:-}
name=retrograde-$version-x86_64${cuda:+-cuda}
mkdir -p "$out"
rm -rf "${out:?}/$name"
python3 "$here/bundle.py" --programs "$programs" --out "$out/$name/inside" $cuda

cat >"$out/$name/retrograde" <<'LAUNCHER'
#!/bin/sh
# Starts the program of its own name, with the fonts of this folder and, where the system has none, its keyboards.
self=$(readlink -f "$0")
inside=$(dirname "$self")/inside
: "${FONTCONFIG_FILE:=$inside/fonts/fonts.conf}"
export FONTCONFIG_FILE
if [ ! -d /usr/share/X11/xkb ]; then
    : "${XKB_CONFIG_ROOT:=$inside/xkb}"
    export XKB_CONFIG_ROOT
fi
exec "$inside/bin/$(basename "$self")" "$@"
LAUNCHER
for program in retrograde-cli retrograde-lut-train; do
    [ -e "$out/$name/inside/bin/$program" ] && cp "$out/$name/retrograde" "$out/$name/$program"
done

cat >"$out/$name/install-desktop" <<'INSTALL'
#!/bin/sh
# install-desktop [--remove]: desktop file, icon and file types of this folder for this user.
set -e
here=$(dirname "$(readlink -f "$0")")
data=${XDG_DATA_HOME:-$HOME/.local/share}
id=ai.retrograde.Retrograde
desktop=$data/applications/$id.desktop icon=$data/icons/hicolor/scalable/apps/$id.svg types=$data/mime/packages/$id.xml
if [ "${1:-}" = "--remove" ]; then
    rm -f "$desktop" "$icon" "$types"
else
    mkdir -p "$(dirname "$desktop")" "$(dirname "$icon")" "$(dirname "$types")"
    sed "s|^Exec=retrograde|Exec=\"$here/retrograde\"|; s|^TryExec=.*|TryExec=$here/retrograde|" \
        "$here/inside/share/$id.desktop" >"$desktop"
    cp "$here/inside/share/$id.svg" "$icon"
    cp "$here/inside/share/$id.mime.xml" "$types"
fi
if command -v update-mime-database >/dev/null 2>&1; then update-mime-database "$data/mime"; fi
if command -v update-desktop-database >/dev/null 2>&1; then update-desktop-database "$data/applications"; fi
INSTALL
chmod 755 "$out/$name"/retrograde* "$out/$name/install-desktop"
cp "$here/../../LICENSE" "$out/$name/"
tar -C "$out" --owner=0 --group=0 -cf - "$name" | xz -T0 "-${PORTABLE_LEVEL:-6}" >"$out/$name.tar.xz"
rm -rf "${out:?}/$name"
ls -l "$out/$name.tar.xz"
