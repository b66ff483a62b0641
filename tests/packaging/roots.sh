# SPDX-License-Identifier: Apache-2.0
# What the tests in clean roots share; sourced. Needs root and mmdebstrap; who cannot go on ends with 77 and says why.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
unset RETROGRADE_CLI # a program of this machine
skip() { echo "skipped: $*"; exit 77; }

# fits_of RELEASE: sets $fits, the tags that the Python of that release takes, and $how, what makes such a wheel.
fits_of() {
    how='./dev wheel'
    case $1 in
    bookworm) fits='cp311|-py3-none-' ;;
    trixie) fits='cp313|abi3|-py3-none-' ;;
    *) skip "nobody said which Python $1 has" ;;
    esac
}

# wheel_for RELEASE [WHEEL]: sets $wheel: the one that is named, that of RETRO_WHEEL, or the newest of build/dist that
# fits.
wheel_for() {
    fits_of "$1"
    wheel=${2:-${RETRO_WHEEL:-}}
    [ -n "$wheel" ] ||
        wheel=$(ls -t "$root"/build/dist/retrograde-*.whl 2>/dev/null | grep -E "$fits" | head -n 1 || true)
    [ -n "$wheel" ] || skip "there is no wheel for $1 in build/dist; make it with $how"
    basename "$wheel" | grep -qE "$fits" || skip "$(basename "$wheel") is not for the Python of $1"
}

# clean_root RELEASE FILE…: makes $work/root, a minimal system with Python alone, with samples and files in /work.
# RETRO_ROOTS names a folder with RELEASE.tar where such roots were made before (mmdebstrap … RELEASE.tar).
clean_root() {
    local release=$1 library found file version
    shift
    [ "$(id -u)" -eq 0 ] || skip "a clean root can only be made by root"
    work=$(mktemp -d)
    trap 'umount "$work/root/proc" 2>/dev/null; rm -rf --one-file-system "$work"' EXIT
    if [ -f "${RETRO_ROOTS:-}/$release.tar" ]; then
        mkdir "$work/root"
        tar -C "$work/root" -xf "$RETRO_ROOTS/$release.tar"
    else
        command -v mmdebstrap >/dev/null || skip "there is no mmdebstrap"
        mmdebstrap --quiet --variant=minbase --include=python3,python3-venv,python3-pip,ca-certificates \
            "$release" "$work/root" >"$work/log" 2>&1 ||
            skip "mmdebstrap made no root of $release: $(tail -n 1 "$work/log")"
    fi
    for library in libQt6Core.so.6 libprotobuf.so.32 libdnnl.so.2 libX11.so.6 libfontconfig.so.1 libgvc.so.6; do
        found=$(find "$work/root/usr/lib" -name "$library" -print -quit)
        [ -z "$found" ] || { echo "the root is not clean: $found"; exit 1; }
    done
    mkdir -p "$work/root/work/wheels"
    cp -r "$root/samples" "$root/tests/packaging/useinstalled.sh" "$@" "$work/root/work/"
    cp /etc/resolv.conf "$work/root/etc/" 2>/dev/null || true
    for file in /etc/pip.conf "$HOME/.config/pip/pip.conf" "$HOME/.pip/pip.conf"; do
        [ -f "$file" ] && cp "$file" "$work/root/etc/pip.conf"
    done
    # numpy comes with pip as for everybody; where the root has no network, from here.
    version=$(chroot "$work/root" python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    python3 -m pip download -q --only-binary :all: --python-version "$version" -d "$work/root/work/wheels" numpy \
        || skip "numpy for Python $version cannot be had"
    mount -t proc proc "$work/root/proc"
}
