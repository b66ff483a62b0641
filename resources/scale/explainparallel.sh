#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# GNU parallel explains a folder of inputs in parts, here or on the machines of an --sshloginfile. All parts fill one
# folder that they share.
#
# explainparallel.sh PARTS MODEL --input image=pictures/ --output-dir results [OPTION ...]
#
# The arguments behind PARTS are those of `retrograde-cli explain`; --run run.retro keeps every run with its ledger
# beside the result. As many parts run at once as there are processors. A part that ends with an error is run once more;
# what is complete is skipped, so the same call goes on where one was cut off. Options of parallel stand in the variable
# PARALLEL, as it reads them: PARALLEL='--jobs 2', PARALLEL='--sshloginfile machines --wd .'.
# RETROGRADE_CLI names the program where it is not on the path.
set -euo pipefail

parts=${1:?explainparallel.sh PARTS MODEL ...}
shift
# {} could stand in a name: ,part, is what is replaced.
seq "$parts" | parallel --quote -I ,part, --retries 2 --line-buffer --tagstring "part ,part," \
    "${RETROGRADE_CLI:-retrograde-cli}" explain "$@" --shard ",part,/$parts" --threads 1
