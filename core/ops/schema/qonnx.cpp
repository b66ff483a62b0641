// SPDX-License-Identifier: Apache-2.0
#include "core/ops/schema/schematables.h"

namespace retro::ops
{

namespace
{

constexpr std::string_view kQuantAttributes = "signed:int narrow:int rounding_mode:text";
constexpr std::string_view kTruncOperands = "X scale zeropt in_bitwidth out_scale_or_bitwidth out_bitwidth?";

constexpr OperatorSchema quant(std::string_view domain, std::string_view op)
{
    return {domain, op, 1, "X scale zeropt bitwidth", "Y", kQuantAttributes};
}
constexpr OperatorSchema bipolar(std::string_view domain) { return {domain, "BipolarQuant", 1, "X scale", "Y", ""}; }
constexpr OperatorSchema trunc(std::string_view domain)
{
    return {domain, "Trunc", 1, kTruncOperands, "Y", kQuantAttributes};
}

constexpr std::string_view kQonnx = "qonnx.custom_op.general";
constexpr std::string_view kBrevitas = "onnx.brevitas";
constexpr std::string_view kFinn = "finn.custom_op.general";

} // namespace

const SchemaTable kQonnxSchemas{bipolar(kFinn),     quant(kFinn, "Quant"),     trunc(kFinn),
                                bipolar(kBrevitas), quant(kBrevitas, "Quant"), trunc(kBrevitas),
                                bipolar(kQonnx),    quant(kQonnx, "IntQuant"), quant(kQonnx, "Quant"),
                                trunc(kQonnx)};

} // namespace retro::ops
