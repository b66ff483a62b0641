#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# sidebyside.sh [WHEEL [DEB]]: the Debian package and a wheel in one root of Debian 12: each uses its own files, and
# when one goes the other works on. Needs root, mmdebstrap, a network, ./dev wheel and ./dev package.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/roots.sh"
wheel_for bookworm "${1:-}"
deb=${2:-$(ls -t "$root"/build/package/retrograde_*_amd64.deb 2>/dev/null | head -n 1 || true)}
[ -n "$deb" ] || skip "there is no Debian package in build/package; make it with ./dev package"
clean_root bookworm "$wheel" "$deb"
chroot "$work/root" /bin/bash -euc 'apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
    --no-install-recommends /work/retrograde_*.deb' >"$work/log" 2>&1 ||
    skip "apt cannot install the package: $(tail -n 1 "$work/log")"
chroot "$work/root" /bin/bash -euc '
    export LC_ALL=C.UTF-8 HOME=/root QT_QPA_PLATFORM=offscreen
    model=/work/samples/clever-hans/clever-hans.onnx picture=/work/samples/clever-hans/jug-tagged.png
    use() { # use BIN: command line and window of a folder of programs
        "$1/retrograde-cli" explain $model --input $picture --output-dir "/work/out$1" \
            --run "/work/out$1/run.retro" --quiet
        "$1/retrograde" "/work/out$1/run.retro" --screenshot "/work/out$1/window.png"
        [ "$(wc -c <"/work/out$1/window.png")" -gt 20000 ]
    }
    use /usr/bin
    python3 -m venv /env
    /env/bin/pip install -q --no-index --find-links /work/wheels /work/retrograde-*.whl
    use /env/bin
    use /usr/bin
    cmp /work/out/env/bin/relevance/image.npy /work/out/usr/bin/relevance/image.npy
    # Each starts its own helper and module: programs of the one know nothing of the other.
    inside=$(/env/bin/python -c "import retrograde_programs as p; print(p.path(\"retrograde-layout\"))")
    case $inside in /env/*) ;; *) echo "the wheel takes $inside"; exit 1 ;; esac
    /env/bin/python -c "import retrograde; assert retrograde.__file__.startswith(\"/env/\"), retrograde.__file__"
    PYTHONPATH=/usr/share/retrograde/python /env/bin/python -c "
from retrograde.capture import client
assert client.__file__.startswith(\"/usr/share/\"), client.__file__"
    ldd /usr/bin/retrograde | grep -q "/env/" && { echo "the package takes libraries of the wheel"; exit 1; }
    PATH=/env/bin:$PATH bash -c "[ \$(command -v retrograde) = /env/bin/retrograde ]"
    /env/bin/pip uninstall -q -y retrograde
    use /usr/bin
    /env/bin/pip install -q --no-index --find-links /work/wheels /work/retrograde-*.whl
    DEBIAN_FRONTEND=noninteractive apt-get remove -y -qq --purge retrograde >/dev/null
    use /env/bin
    [ -z "$(find /usr -name "*retrograde*" -print -quit)" ]
'
echo "side by side: all checks hold"
