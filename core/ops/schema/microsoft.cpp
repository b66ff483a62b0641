// SPDX-License-Identifier: Apache-2.0
#include "core/ops/schema/schematables.h"

namespace retro::ops
{

namespace
{

constexpr std::string_view kExpertAttributes =
    "activation_alpha:float activation_beta:float activation_type:text block_size:int expert_weight_bits:int k:int "
    "normalize_routing_weights:int quant_type:text swiglu_fusion:int swiglu_limit:float use_sparse_mixer:int";

} // namespace

const SchemaTable kMicrosoftSchemas{
    {"com.microsoft", "Attention", 1, "input weights bias? mask_index? past? attention_bias? past_sequence_length?",
     "output present?",
     "do_rotary:int mask_filter_value:float num_heads:int! past_present_share_buffer:int "
     "qkv_hidden_sizes:ints rotary_embedding_dim:int scale:float unidirectional:int"},
    {"com.microsoft", "BiasAdd", 1, "X bias skip", "Y", ""},
    {"com.microsoft", "BiasDropout", 1, "data bias residual? ratio? training_mode?", "output mask?", "seed:int"},
    {"com.microsoft", "BiasGelu", 1, "A B", "C", ""},
    {"com.microsoft", "BiasSoftmax", 1, "data bias", "output", "axis:int is_inner_broadcast:int"},
    {"com.microsoft", "BiasSplitGelu", 1, "X bias", "Y", ""},
    {"com.microsoft", "DequantizeLinear", 1, "x x_scale x_zero_point?", "y", "axis:int"},
    {"com.microsoft", "DynamicQuantizeLSTM", 1,
     "X W R B? sequence_lens? initial_h? initial_c? P? W_scale W_zero_point R_scale R_zero_point", "Y? Y_h? Y_c?",
     "activation_alpha:floats activation_beta:floats activations:texts clip:float direction:text "
     "hidden_size:int input_forget:int"},
    {"com.microsoft", "DynamicQuantizeMatMul", 1, "A B b_scale b_zero_point? bias?", "Y", ""},
    {"com.microsoft", "EmbedLayerNormalization", 1,
     "input_ids segment_ids? word_embedding position_embedding segment_embedding? gamma beta mask? "
     "position_ids?",
     "output mask_index? embedding_sum?", "epsilon:float mask_index_type:int"},
    {"com.microsoft", "FastGelu", 1, "X bias?", "Y", ""},
    {"com.microsoft", "FusedConv", 1, "X W B? Z?", "Y",
     "activation:text activation_params:floats auto_pad:text dilations:ints group:int "
     "kernel_shape:ints pads:ints strides:ints"},
    {"com.microsoft", "FusedGemm", 1, "A B C?", "Y",
     "activation:text activation_alpha:float activation_beta:float activation_gamma:float "
     "alpha:float beta:float transA:int transB:int"},
    {"com.microsoft", "FusedMatMul", 1, "A B", "Y",
     "alpha:float transA:int transB:int transBatchA:int transBatchB:int"},
    {"com.microsoft", "FusedMatMulActivation", 1, "A B", "Y",
     "activation:text! activation_alpha:float activation_axis:int activation_beta:float "
     "activation_gamma:float alpha:float transA:int transB:int transBatchA:int transBatchB:int"},
    {"com.microsoft", "GatherBlockQuantized", 1, "data indices scales zero_points?", "output",
     "bits:int block_size:int gather_axis:int quantize_axis:int"},
    {"com.microsoft", "Gelu", 1, "X", "Y", ""},
    {"com.microsoft", "GroupNorm", 1, "X gamma beta", "Y",
     "activation:int channels_last:int epsilon:float groups:int!"},
    {"com.microsoft", "GroupQueryAttention", 1,
     "query key? value? past_key? past_value? seqlens_k total_sequence_length cos_cache? "
     "sin_cache? position_ids? attention_bias? head_sink? k_scale? v_scale? q_norm_weight? "
     "k_norm_weight? query_seqlens?",
     "output present_key? present_value? output_qk?",
     "causal:int do_rotary:int k_norm_epsilon:float k_quant_type:text kv_cache_bit_width:int "
     "kv_num_heads:int! local_window_size:int num_heads:int! q_norm_epsilon:float "
     "qk_norm_epsilon:float qk_output:int rotary_interleaved:int scale:float "
     "sliding_window_cache:int smooth_softmax:int softcap:float v_quant_type:text"},
    {"com.microsoft", "Inverse", 1, "X", "Y", ""},
    {"com.microsoft", "LayerNormalization", 1, "X Scale B?", "Y Mean? InvStdDev?",
     "axis:int epsilon:float stash_type:int"},
    {"com.microsoft", "MatMulIntegerToFloat", 1, "A B a_scale b_scale a_zero_point? b_zero_point? bias?", "Y", ""},
    {"com.microsoft", "MatMulNBits", 1, "A B scales zero_points? g_idx? bias?", "Y",
     "K:int! N:int! accuracy_level:int bits:int block_size:int! weight_prepacked:int"},
    {"com.microsoft", "MoE", 1,
     "input router_probs fc1_experts_weights fc1_experts_bias? fc2_experts_weights "
     "fc2_experts_bias? fc3_experts_weights? fc3_experts_bias?",
     "output", kExpertAttributes},
    {"com.microsoft", "MultiHeadAttention", 1,
     "query key? value? bias? key_padding_mask? attention_bias? past_key? past_value? "
     "past_sequence_length? cache_indirection?",
     "output present_key? present_value? qk?", "mask_filter_value:float num_heads:int! scale:float unidirectional:int"},
    {"com.microsoft", "NhwcConv", 1, "X W B?", "Y",
     "auto_pad:text dilations:ints group:int kernel_shape:ints pads:ints strides:ints"},
    {"com.microsoft", "NhwcFusedConv", 1, "X W B? Z?", "Y",
     "activation:text activation_params:floats auto_pad:text dilations:ints group:int "
     "kernel_shape:ints pads:ints strides:ints"},
    {"com.microsoft", "NhwcMaxPool", 1, "x", "y",
     "auto_pad:text ceil_mode:int dilations:ints kernel_shape:ints! pads:ints strides:ints"},
    {"com.microsoft", "QAttention", 1,
     "input weight bias input_scale weight_scale mask_index? input_zero_point? weight_zero_point? "
     "past?",
     "output present?",
     "do_rotary:int mask_filter_value:float num_heads:int! past_present_share_buffer:int "
     "scale:float unidirectional:int"},
    {"com.microsoft", "QGemm", 1, "A a_scale a_zero_point B b_scale b_zero_point C? y_scale? y_zero_point?", "Y",
     "alpha:float transA:int transB:int"},
    {"com.microsoft", "QLinearAdd", 1, "A A_scale A_zero_point? B B_scale B_zero_point? C_scale C_zero_point?", "C",
     ""},
    {"com.microsoft", "QLinearAveragePool", 1, "X x_scale x_zero_point? y_scale y_zero_point?", "Y",
     "auto_pad:text ceil_mode:int channels_last:int count_include_pad:int kernel_shape:ints! "
     "pads:ints strides:ints"},
    {"com.microsoft", "QLinearConcat", 1, "Y_scale Y_zero_point inputs+", "Y", "axis:int!"},
    {"com.microsoft", "QLinearConv", 1, "x x_scale x_zero_point w w_scale w_zero_point y_scale y_zero_point B?", "y",
     "auto_pad:text channels_last:int dilations:ints group:int kernel_shape:ints pads:ints "
     "strides:ints"},
    {"com.microsoft", "QLinearGlobalAveragePool", 1, "X x_scale x_zero_point y_scale y_zero_point", "Y",
     "channels_last:int"},
    {"com.microsoft", "QLinearLeakyRelu", 1, "X X_scale X_zero_point? Y_scale Y_zero_point?", "Y", "alpha:float"},
    {"com.microsoft", "QLinearMul", 1, "A A_scale A_zero_point? B B_scale B_zero_point? C_scale C_zero_point?", "C",
     ""},
    {"com.microsoft", "QLinearReduceMean", 1, "data data_scale data_zero_point? reduced_scale reduced_zero_point?",
     "reduced", "axes:ints! keepdims:int!"},
    {"com.microsoft", "QLinearSigmoid", 1, "X X_scale X_zero_point? Y_scale Y_zero_point?", "Y", ""},
    {"com.microsoft", "QLinearSoftmax", 1, "X X_scale x_zero_point? y_scale y_zero_point", "Y", "axis:int opset:int!"},
    {"com.microsoft", "QLinearWhere", 1, "condition X x_scale x_zero_point Y y_scale y_zero_point z_scale z_zero_point",
     "Z", ""},
    {"com.microsoft", "QMoE", 1,
     "input router_probs fc1_experts_weights fc1_scales? fc1_experts_bias? fc2_experts_weights "
     "fc2_scales? fc2_experts_bias? fc3_experts_weights? fc3_scales? fc3_experts_bias? "
     "fc1_zero_points? fc2_zero_points? fc3_zero_points? router_weights?",
     "output", kExpertAttributes},
    {"com.microsoft", "QuantizeLinear", 1, "x y_scale y_zero_point?", "y", "axis:int"},
    {"com.microsoft", "QuickGelu", 1, "X", "Y", "alpha:float"},
    {"com.microsoft", "RotaryEmbedding", 1, "input position_ids cos_cache sin_cache", "output",
     "interleaved:int is_packed_batching:int num_heads:int rotary_embedding_dim:int scale:float"},
    {"com.microsoft", "SkipGroupNorm", 1, "X gamma beta skip bias?", "Y S?",
     "activation:int channels_last:int epsilon:float groups:int!"},
    {"com.microsoft", "SkipLayerNormalization", 1, "input skip gamma beta? bias?",
     "output mean? inv_std_var? input_skip_bias_sum?", "epsilon:float"},
    {"com.microsoft", "SkipSimplifiedLayerNormalization", 1, "input skip gamma bias?",
     "output mean? inv_std_var? input_skip_bias_sum?", "epsilon:float"},
    {"com.microsoft", "TransposeMatMul", 1, "A B", "Y",
     "alpha:float transA:int transB:int transBatchA:int transBatchB:int"},
    {"com.microsoft", "Trilu", 1, "X k?", "Y", "upper:int"},
    {"com.microsoft.nchwc", "AveragePool", 1, "X", "Y",
     "auto_pad:text ceil_mode:int count_include_pad:int dilations:ints kernel_shape:ints! "
     "pads:ints strides:ints"},
    {"com.microsoft.nchwc", "Conv", 1, "X W B? Sum?", "Y",
     "activation:text activation_params:floats auto_pad:text dilations:ints group:int "
     "kernel_shape:ints pads:ints strides:ints"},
    {"com.microsoft.nchwc", "GlobalAveragePool", 1, "X", "Y", ""},
    {"com.microsoft.nchwc", "GlobalMaxPool", 1, "X", "Y", ""},
    {"com.microsoft.nchwc", "MaxPool", 1, "X", "Y",
     "auto_pad:text ceil_mode:int dilations:ints kernel_shape:ints! pads:ints storage_order:flag "
     "strides:ints"},
    {"com.microsoft.nchwc", "ReorderInput", 1, "X", "Y", "channels_last:int"},
    {"com.microsoft.nchwc", "ReorderOutput", 1, "X", "Y", "channels:int channels_last:int"},
    {"com.microsoft.nchwc", "Upsample", 1, "X", "Y", "coordinate_transformation_mode:text mode:text scales:ints"},
};

} // namespace retro::ops
