// SPDX-License-Identifier: Apache-2.0
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/kernel/filled.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <numbers>

namespace retro::ops
{

namespace
{

using tensor::DType;
using tensor::Shape;

/// A result that is known when the operator is bound: what it depends on decides its shape, too.
class Table final : public PassiveOperator
{
public:
    Table(const TensorType& type, Tensor values) : m_values(std::move(values)) { m_outputTypes = {type}; }

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor>) const override { return {m_values}; }

private:
    Tensor m_values;
};

/// The run's floating type for the floating ones that the standard numbers, else the integer type itself.
base::Result<DType> outputType(const BindContext& context)
{
    static constexpr std::array<std::pair<std::int64_t, DType>, 8> kIntegers{{{2, DType::UInt8},
                                                                              {3, DType::Int8},
                                                                              {4, DType::UInt16},
                                                                              {5, DType::Int16},
                                                                              {6, DType::Int32},
                                                                              {7, DType::Int64},
                                                                              {12, DType::UInt32},
                                                                              {13, DType::UInt64}}};
    const std::int64_t number = context.intAttribute("output_datatype", 1);
    if (number == 1 || number == 10 || number == 11 || number == 16) {
        return context.floatType;
    }
    for (const auto& [known, type] : kIntegers) {
        if (known == number) {
            return type;
        }
    }
    return context.error(fmt::format("output_datatype {} is unknown", number));
}

BoundResult boundTable(const BindContext& context, const std::vector<double>& values, Shape shape)
{
    RETRO_TRY(const DType type, outputType(context));
    const Tensor wide = Tensor::of<double>(shape, values);
    return bound<Table>(TensorType{type, std::move(shape)}, wide.to(type));
}

base::Result<std::int64_t> oneInteger(const BindContext& context, std::size_t slot, std::int64_t most)
{
    RETRO_TRY(const auto values, context.constantInts(slot));
    if (values.size() != 1 || values[0] < 0 || values[0] > most) {
        return context.error(fmt::format("operand {} must be one integer between 0 and {}", slot, most));
    }
    return values[0];
}

/// first − second·cos(2πn/N) + third·cos(4πn/N).
BoundResult boundWindow(const BindContext& context, double first, double second, double third)
{
    RETRO_TRY(const std::int64_t size, oneInteger(context, 0, 1LL << 24));
    const std::int64_t period = context.intAttribute("periodic", 1) != 0 ? size : size - 1;
    std::vector<double> values;
    for (std::int64_t n = 0; n < size; ++n) {
        const double angle =
            2 * std::numbers::pi * static_cast<double>(n) / static_cast<double>(std::max<std::int64_t>(period, 1));
        values.push_back(first - second * std::cos(angle) + third * std::cos(2 * angle));
    }
    return boundTable(context, values, {size});
}

BoundResult bindHann(const BindContext& context) { return boundWindow(context, 0.5, 0.5, 0); }
BoundResult bindHamming(const BindContext& context) { return boundWindow(context, 25.0 / 46, 21.0 / 46, 0); }
BoundResult bindBlackman(const BindContext& context) { return boundWindow(context, 0.42, 0.5, 0.08); }

struct MelForm
{
    std::int64_t bands = 0;
    std::int64_t length = 0;
    std::int64_t rate = 1;
    double low = 0;
    double high = 0;
};

double melOf(double hertz) { return 2595 * std::log10(1 + hertz / 700); }
double hertzOf(double mel) { return 700 * (std::pow(10.0, mel / 2595) - 1); }

/// Spectrogram bins at the edges of the bands: band i rises from edge i to i + 1 and falls to i + 2.
std::vector<std::int64_t> bandEdges(const MelForm& form)
{
    const auto count = static_cast<double>(form.bands + 2);
    const double step = (melOf(form.high) - melOf(form.low)) / count;
    std::vector<std::int64_t> edges;
    for (std::int64_t i = 0; i < form.bands + 2; ++i) {
        const double hertz = hertzOf(static_cast<double>(i) * step + melOf(form.low));
        edges.push_back(static_cast<std::int64_t>(
            std::floor(static_cast<double>(form.length + 1) * hertz / static_cast<double>(form.rate))));
    }
    return edges;
}

/// Weight of spectrogram bin j in a band.
double melWeight(std::int64_t j, std::int64_t low, std::int64_t centre, std::int64_t high)
{
    if (j >= centre && j < high) {
        return static_cast<double>(high - j) / static_cast<double>(high - centre);
    }
    if (low == centre) {
        return j == centre ? 1 : 0;
    }
    return j >= low && j <= centre ? static_cast<double>(j - low) / static_cast<double>(centre - low) : 0;
}

base::Result<double> oneNumber(const BindContext& context, std::size_t slot)
{
    RETRO_TRY(const Tensor value, context.known(slot));
    if (value.size() != 1) {
        return context.error(fmt::format("operand {} must be one number", slot));
    }
    return value.at(0);
}

BoundResult bindMelWeightMatrix(const BindContext& context)
{
    MelForm form;
    RETRO_TRY(form.bands, oneInteger(context, 0, 1LL << 16));
    RETRO_TRY(form.length, oneInteger(context, 1, 1LL << 20));
    RETRO_TRY(form.rate, oneInteger(context, 2, 1LL << 30));
    RETRO_TRY(form.low, oneNumber(context, 3));
    RETRO_TRY(form.high, oneNumber(context, 4));
    if (form.rate < 1 || !(form.low >= 0) || !(form.high >= form.low) || form.high > 1e9) {
        return context.error("sample_rate must be positive and the edges 0 ≤ lower ≤ upper");
    }
    const std::int64_t bins = form.length / 2 + 1;
    Shape shape{bins, form.bands};
    RETRO_CHECK(expectSize(context, shape));
    const std::vector<std::int64_t> edges = bandEdges(form);
    if (edges.back() >= bins) {
        return context.error(
            fmt::format("the upper edge lies in bin {} of a spectrogram of {}; choose a lower one, or a "
                        "higher sample_rate",
                        edges.back(), bins));
    }
    std::vector<double> values;
    for (std::int64_t j = 0; j < bins; ++j) {
        for (std::size_t band = 0; band + 2 < edges.size(); ++band) {
            values.push_back(melWeight(j, edges[band], edges[band + 1], edges[band + 2]));
        }
    }
    return boundTable(context, values, std::move(shape));
}

} // namespace

const OperatorFamily kWindowFunctionOperators{
    {"", "HannWindow", 17, 0, "no relevance", false, bindHann},
    {"", "HammingWindow", 17, 0, "no relevance", false, bindHamming},
    {"", "BlackmanWindow", 17, 0, "no relevance", false, bindBlackman},
    {"", "MelWeightMatrix", 17, 0, "no relevance", false, bindMelWeightMatrix},
};

} // namespace retro::ops
