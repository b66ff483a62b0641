#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Pictures of the window for the README and the documentation. Usage: screenshots.sh BIN_FOLDER OUT_FOLDER
# Each is reduced to 256 colours: a repository keeps pictures for ever, and no difference is seen at this size.
set -euo pipefail
bin=$1
out=$2
mkdir -p "$out"
model=samples/clever-hans/clever-hans.onnx
picture=samples/clever-hans/jug-tagged.png
for theme in light dark; do
    "$bin/retrograde" "$model" --input "$picture" --theme "$theme" --size 1600x1000 --workspace explain \
        --screenshot "$out/explain-$theme.png"
    "$bin/retrograde" "$model" --input "$picture" --theme "$theme" --size 1600x1000 --workspace engine --step 27 \
        --screenshot "$out/engine-$theme.png"
    pngquant --force --ext .png --speed 1 --strip "$out/explain-$theme.png" "$out/engine-$theme.png"
    printf '%s\n' "$out/explain-$theme.png" "$out/engine-$theme.png"
done
