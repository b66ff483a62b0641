#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Pictures of the window for the README, and of every view for its page in docs/windows.
# Usage: screenshots.sh BIN_FOLDER OUT_FOLDER; the views go to OUT_FOLDER/views.
# Each is reduced to few colours: a repository keeps pictures for ever, and no difference is seen at this size.
set -euo pipefail
bin=$1
out=$2
mkdir -p "$out/views"
model=samples/clever-hans/clever-hans.onnx
picture=samples/clever-hans/jug-tagged.png

# shoot FILE COLOURS OPTION…: one picture.
shoot() {
    local file=$1 colours=$2
    shift 2
    "$bin/retrograde" "$@" --screenshot "$file"
    pngquant --force --ext .png --speed 1 --strip "$colours" "$file"
    printf '%s\n' "$file"
}

# view NAME THEMES OPTION…: one view, in each theme that is named.
view() {
    local name=$1 themes=$2 theme
    shift 2
    for theme in $themes; do
        shoot "$out/views/$name-$theme.png" 64 "$model" --input "$picture" --theme "$theme" "$@"
    done
}

for theme in light dark; do
    shoot "$out/explain-$theme.png" 256 "$model" --input "$picture" --theme "$theme" --size 1600x1000
    shoot "$out/engine-$theme.png" 256 "$model" --input "$picture" --theme "$theme" --size 1600x1000 \
        --workspace engine --step 27
done
# Eight moments of the pass, as the graph of Engine shows them: visits, and how far the next one is.
mkdir -p "$out/moments"
for theme in light dark; do
    for step in 1 4.8 6.75 12.5 25.6 26.6 27.45 34; do
        shoot "$out/moments/$step-$theme.png" 160 "$model" --input "$picture" --theme "$theme" --size 1224x470 \
            --view graph --step "$step"
    done
done
# Relevance by a plan that drops values: promises bring them back.
plan=$(mktemp --suffix .json)
"$bin/retrograde-cli" plan "$model" --relevance --composite epsilon_plus --budget 70% --out "$plan" >/dev/null
shoot "$out/plan-light.png" 256 "$model" --input "$picture" --plan "$plan" --workspace plan --theme light \
    --size 1600x1000 --action plan.run --step 25
rm "$plan"

view run light --view run --size 320x960
view input light --view input --size 420x480 --action cover.brush
view classes light --view classes --size 420x330
view heatmap "light dark" --view heatmap --size 640x600
shoot "$out/views/diagnose-light.png" 64 samples/clever-hans/clever-hans.onnx \
    --input samples/clever-hans/jug-tagged.png --theme light --view diagnose --size 340x560
view compare light --view compare --size 320x640
view layers light --view layers --size 860x225
# A language model that has learnt eight capitals by heart.
text=(tests/data/language/capitals.onnx --text "The capital of France is" --target Paris --contrast London --generate 4)
shoot "$out/views/text-light.png" 64 "${text[@]}" --theme light --view text --size 900x420
shoot "$out/views/wordlayers-light.png" 64 "${text[@]}" --theme light --view words --size 900x260
for theme in light dark; do
    shoot "$out/text-$theme.png" 256 "${text[@]}" --theme "$theme" --size 1280x800
done
view where light --history 'image:0,*,12,86' --view where --size 380x640
view region light --action region.largest --view ask --size 1000x235
shoot "$out/views/output-light.png" 64 samples/one-segment/one-segment.onnx \
    --input samples/one-segment/scene-1.png --target scores:segment=1 --theme light --view output --size 380x560
shoot "$out/views/words-light.png" 64 samples/planted-word/planted-word.onnx \
    --input samples/planted-word/bad-sponsored.npy --theme light --view heatmap --size 820x560
shoot "$out/views/series-light.png" 64 samples/marked-step/marked-step.onnx \
    --input samples/marked-step/early.npy --theme light --view heatmap --size 820x460
shoot "$out/views/memory-light.png" 64 samples/marked-step/marked-step.onnx \
    --input samples/marked-step/early.npy --theme light --view memory --size 820x320
view before light --action cover.tag --view before --size 720x640
view frontier light --view frontier --size 480x235 --step 14
view ledger light --view ledger --size 480x235
engine=(--workspace engine --step 20)
view graph "light dark" "${engine[@]}" --view graph --size 820x620
view promises light "${engine[@]}" --view promises --size 420x420
view why light "${engine[@]}" --view why --size 420x230
view breakpoints light "${engine[@]}" --view breakpoints --size 420x160 --select /block1/Add --action run.breakpoint
view inspector light "${engine[@]}" --view inspector --select /block3/Add --size 400x620
view values light "${engine[@]}" --view values --select /block3/Add --size 560x420
view timeline "light dark" "${engine[@]}" --view timeline --size 860x340
view now light "${engine[@]}" --view now --size 360x420
view log light "${engine[@]}" --view log --size 700x340
view program light "${engine[@]}" --view program --size 700x380
view verification light "${engine[@]}" --action run.verify --view verification --size 860x480
view storage light "${engine[@]}" --action run.verify.storage --view verification --size 860x340
view watch light "${engine[@]}" --view watch --size 480x220 --watch 'R(/block3/Add)' --watch 'R(/block3/Add).max' \
    --watch 'V(/block1/Add).norm' --watch 'R(/block2/Add).nan'
walk=(--action go.mode --action go.mode --action go.mode --action go.mode) # places of the trail
view notebook "light dark" --workspace engine --step 12 --select /block3/Add --note "the tag and the object part here" \
    "${walk[@]}" --view notebook --size 640x220
graph=samples/graphs/gpt2.json
# plan NAME THEMES OPTION…: a view of the plan of a benchmark graph.
plan() {
    local name=$1 themes=$2 theme
    shift 2
    for theme in $themes; do
        shoot "$out/views/$name-$theme.png" 64 "$graph" --workspace plan --theme "$theme" --view "$name" "$@"
    done
}
plan schedule "light dark" --size 1000x620 --select matmul_7
plan budget light --size 400x330
plan planners light --size 420x480
plan tensors light --size 900x220 --select matmul_7
plan analysis light --size 420x480
plan block light --size 420x260
plan pins light --size 420x200 --select linear_2 --action plan.recompute
view profile light --view profile --size 860x420
shoot "$out/views/snapshot-light.png" 64 tests/data/snapshot/training-step.pickle --theme light --view snapshot \
    --size 940x400
# lut NAME VIEW THEMES OPTION…: a view of the LUT layer that reads bytes.
lut() {
    local name=$1 pane=$2 themes=$3 theme
    shift 3
    for theme in $themes; do
        shoot "$out/views/$name-$theme.png" 64 samples/lut-marked-byte/lut-marked-byte.onnx \
            --input samples/lut-marked-byte/b.npy --workspace kernels --theme "$theme" --view "$pane" "$@"
    done
}
lut flow data "light dark" --size 1240x760
lut streams streams light --size 860x220
lut table table light --size 480x420
lut map pair light --size 420x440
view problems light --view problems --action window.dock1 --action export.pane # the run panel cannot be written
view palette light --view palette --action view.palette
shoot "$out/views/welcome-light.png" 64 --workspace welcome --theme light --size 1100x740
