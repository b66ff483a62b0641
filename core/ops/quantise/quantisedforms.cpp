// SPDX-License-Identifier: Apache-2.0
#include "core/ops/quantise/quantisedforms.h"
#include "core/graph/attributes.h"

#include <algorithm>
#include <array>

namespace retro::ops
{

namespace
{

constexpr std::array kForms{
    QuantisedForm{.op = "QLinearAdd", .function = "Add", .count = 2, .result = 6},
    QuantisedForm{.op = "QLinearMul", .function = "Mul", .count = 2, .result = 6},
    QuantisedForm{.op = "QLinearLeakyRelu", .function = "LeakyRelu"},
    QuantisedForm{.op = "QLinearSigmoid", .function = "Sigmoid"},
    QuantisedForm{.op = "QLinearSoftmax", .function = "Softmax"},
    QuantisedForm{.op = "QLinearAveragePool", .function = "AveragePool"},
    QuantisedForm{.op = "QLinearGlobalAveragePool", .function = "GlobalAveragePool"},
    QuantisedForm{.op = "QLinearReduceMean", .function = "ReduceMean"},
    QuantisedForm{.op = "QLinearConcat", .function = "Concat", .first = 2, .count = 0, .result = 0},
    QuantisedForm{.op = "QLinearWhere", .function = "Where", .first = 1, .count = 2, .result = 7, .plain = 0},
};

} // namespace

std::vector<std::size_t> QuantisedForm::quantisedSlots(std::size_t operandCount) const
{
    std::vector<std::size_t> found;
    const std::size_t most = count == 0 ? operandCount : count;
    for (std::size_t slot = first; found.size() < most && slot < operandCount; slot += 3) {
        found.push_back(slot);
    }
    return found;
}

std::span<const QuantisedForm> quantisedForms() { return kForms; }

const QuantisedForm* quantisedForm(std::string_view domain, std::string_view op)
{
    const auto at = std::ranges::find(kForms, op, &QuantisedForm::op);
    return domain != "com.microsoft" || at == kForms.end() ? nullptr : &*at;
}

std::int64_t quantisedOpset(const QuantisedForm& form, const graph::Node& node)
{
    return graph::intAttribute(node, "opset", form.opset);
}

graph::Attributes functionAttributes(const graph::Node& node)
{
    graph::Attributes attributes = node.attributes;
    attributes.erase("channels_last");
    attributes.erase("opset");
    return attributes;
}

} // namespace retro::ops
