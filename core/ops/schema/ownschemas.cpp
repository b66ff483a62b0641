// SPDX-License-Identifier: Apache-2.0
#include "core/ops/schema/schematables.h"

namespace retro::ops
{

const SchemaTable kOwnSchemas{
    {"ai.retrograde", "Checkpoint", 1, "X", "Y", ""},
    {"ai.retrograde", "LUT", 1, "X anchors W codes? row_starts? columns?", "Y",
     "sequence:int outputs:int forward_group:int backward_group:int documented:int cuda:int"},
    {"ai.retrograde", "Stack", 1, "X+", "Y", "axis:int"},
    {"ai.retrograde", "Unbind", 1, "X", "Y+", "axis:int"},
    {"retrograde", "CacheAppend", 1, "X past? seqlens_k total_sequence_length",
     "rows present? lengths? positions? seen?", "front:int sliding:int window:int"},
    {"retrograde", "DeformSample", 1, "X offset mask?", "Y",
     "auto_pad:text dilations:ints kernel_shape:ints! offset_group:int pads:ints strides:ints"},
    {"retrograde", "Detach", 1, "X", "Y", ""},
    {"retrograde", "ElementwiseChain", 1, "X", "Y", "*"},
    {"retrograde", "ExpertProduct", 1, "X W B? scales? zero_points?", "Y", "bits:int block_size:int expert:int!"},
    {"retrograde", "FakeQuantize", 1, "X scale? zero_point?", "Y",
     "axis:int block_size:int output_dtype:int precision:int round_mode:text saturate:int "
     "truncates:int"},
    {"retrograde", "Gate", 1, "A B", "C", ""},
    {"retrograde", "Gather", 1, "data indices", "output", "axis:int"},
    {"retrograde", "MatMul", 1, "A B C", "Y", ""},
    {"retrograde", "PassThrough", 1, "X", "Y", ""},
    {"retrograde.integer", "Conv", 1, "X W B? X_scale W_scale", "Y",
     "auto_pad:text dilations:ints group:int kernel_shape:ints pads:ints strides:ints"},
    {"retrograde.integer", "Gemm", 1, "A B C? A_scale B_scale", "Y", "alpha:float beta:float transA:int transB:int"},
    {"retrograde.integer", "MatMul", 1, "A B C? A_scale B_scale", "Y", ""},
};

} // namespace retro::ops
