#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cleanroot.sh RELEASE [WHEEL]: installs and uses the wheel in a minimal root of that Debian release, with Python alone;
# then the folders of build/dist, and the Debian package of build/package where it was made on that release. Needs root,
# mmdebstrap, and a wheel for the Python of that release; ends with 77 and says why where it cannot.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/roots.sh"
wheel_for "$@"
clean_root "$1" "$wheel"
chroot "$work/root" /bin/bash -euc '
    export LC_ALL=C.UTF-8 HOME=/root
    python3 -m venv /env
    find /env /root -not -path "*__pycache__*" | sort >/before
    /env/bin/pip install -q --no-index --find-links /work/wheels /work/retrograde-*.whl
    bash /work/useinstalled.sh /env/bin /work/samples /work/out
    /env/bin/pip uninstall -q -y retrograde numpy
    find /env /root -not -path "*__pycache__*" | sort >/after
    rm -rf /root/.cache
    diff /before <(find /env /root -not -path "*__pycache__*" | sort) && echo "nothing is left"
'

for archive in "$root"/build/dist/retrograde-*.tar.xz; do
    [ -e "$archive" ] || continue
    tar -C "$work/root/work" -xJf "$archive"
    name=$(basename "$archive" .tar.xz)
    echo "$name"
    chroot "$work/root" env LC_ALL=C.UTF-8 HOME=/root \
        bash /work/useinstalled.sh "/work/$name" /work/samples /work/out-folder
    rm -r "$work/root/work/$name"
done

for package in "$root"/build/package/retrograde_*.deb; do
    [ -e "$package" ] && [ "$(. /etc/os-release && echo "$VERSION_CODENAME")" = "$1" ] || continue
    cp "$package" "$work/root/work/"
    basename "$package"
    chroot "$work/root" /bin/bash -euc '
        export LC_ALL=C.UTF-8 HOME=/root DEBIAN_FRONTEND=noninteractive
        apt-get update -qq
        apt-get install -y -qq --no-install-recommends /work/retrograde_*.deb >/install.log 2>&1 ||
            { tail -n 20 /install.log; exit 1; }
        bash /work/useinstalled.sh /usr/bin /work/samples /work/out-package
        apt-get purge -y -qq retrograde >/dev/null 2>&1
        if command -v retrograde-cli; then exit 1; fi
    '
done
