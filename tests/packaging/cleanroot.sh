#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cleanroot.sh RELEASE [WHEEL]: installs and uses the wheel in a minimal root of that Debian release, with Python alone.
# Needs root, mmdebstrap, and a wheel for the Python of that release; ends with 77 and says why where it cannot.
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
