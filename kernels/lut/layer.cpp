// SPDX-License-Identifier: Apache-2.0
#include "kernels/lut/layer.h"

#include <algorithm>

namespace retro::lut
{

namespace
{

constexpr std::uint64_t kMaxProduct = std::uint64_t{1} << 62;
constexpr std::uint64_t kMaxNeurons = std::uint64_t{1} << 32;

Status refuse(StatusCode code, std::string message) { return {code, std::move(message)}; }

std::string text(std::uint64_t number) { return std::to_string(number); }

Status outOfRange(const char* name, std::uint64_t value, std::uint64_t least, std::uint64_t most)
{
    return refuse(StatusCode::BadShape,
                  std::string(name) + " is " + text(value) + "; it must be " + text(least) + " to " + text(most));
}

Status checkCounts(const LayerShape& shape)
{
    constexpr std::uint64_t kMaxCount = 0x7FFFFFFF;
    struct Bounds
    {
        const char* name;
        std::uint64_t value;
        std::uint64_t least;
        std::uint64_t most;
    };
    const Bounds all[]{
        {"the number of inputs I", shape.inputs, 2, kMaxCount},
        {"the number of outputs O", shape.outputs, 1, kMaxCount},
        {"the number of detectors T", shape.tables, 1, kMaxCount},
        {"the number of anchor pairs per detector C", shape.comparisons, 1, kMaxComparisons},
        {"the sequence length S", shape.length, shape.isSequence ? 2U : 1U, shape.isSequence ? kMaxCount : 1U},
        {"the number of bits of a positional code P", shape.codeBits, 0, shape.isSequence ? kMaxRowBits : 0U},
    };
    for (const Bounds& one : all) {
        if (one.value < one.least || one.value > one.most) {
            return outOfRange(one.name, one.value, one.least, one.most);
        }
    }
    if (shape.rowBits() > kMaxRowBits) {
        return refuse(StatusCode::BadShape, "2 C + P is " + text(shape.rowBits()) +
                                                " bits; a row of a sequence layer has at most " + text(kMaxRowBits) +
                                                "; take fewer anchor pairs or positional bits");
    }
    return {};
}

Status checkShape(const LayerShape& shape)
{
    if (Status status = checkCounts(shape); !status.ok()) {
        return status;
    }
    if (shape.neurons() > kMaxNeurons) {
        return refuse(StatusCode::TooLarge,
                      "T tables of R rows are " + text(shape.neurons()) +
                          " lookup neurons; there may be at most 2^32; take fewer detectors or anchor pairs");
    }
    const bool fits = checkedProduct({shape.neurons(), shape.outputs, sizeof(double)}) &&
                      checkedProduct({shape.lags(), shape.tables, std::max(shape.codeBits, 1U), sizeof(double)});
    return fits ? Status{}
                : refuse(StatusCode::TooLarge,
                         "the weights [T, R, O] or positional codes [S - 1, T, P] overflow a 64-bit size");
}

Status wrongSize(const char* name, std::uint64_t has, std::uint64_t needs)
{
    return refuse(StatusCode::BadSize,
                  std::string(name) + " has " + text(has) + " elements where the shape needs " + text(needs));
}

/// What is wrong with one pair; nothing when it is good.
const char* faultOf(const Anchor& anchor, std::uint32_t inputs)
{
    const bool isUnused = anchor.a == kUnusedAnchor;
    if (isUnused != (anchor.b == kUnusedAnchor)) {
        return "is half unused: mark both anchors, or neither";
    }
    if (isUnused) {
        return nullptr;
    }
    if (anchor.a >= inputs || anchor.b >= inputs) {
        return "reads an input that does not exist";
    }
    return anchor.a == anchor.b ? "compares an input with itself" : nullptr;
}

Status checkAnchors(std::span<const Anchor> anchors, const LayerShape& shape)
{
    for (std::size_t i = 0; i < anchors.size(); ++i) {
        if (const char* fault = faultOf(anchors[i], shape.inputs)) {
            return refuse(StatusCode::BadAnchor, "anchor pair " + text(i % shape.comparisons) + " of detector " +
                                                     text(i / shape.comparisons) + ", (" + text(anchors[i].a) + ", " +
                                                     text(anchors[i].b) + ") of " + text(shape.inputs) + " inputs, " +
                                                     fault);
        }
    }
    return {};
}

template <class T>
Status checkRowStarts(const LayerDescription<T>& layer)
{
    const auto& starts = layer.rowStarts;
    if (starts.size() != layer.shape.neurons() + 1) {
        return wrongSize("the list of row starts", starts.size(), layer.shape.neurons() + 1);
    }
    if (layer.columns.size() != layer.weightCount()) {
        return wrongSize("the list of columns", layer.columns.size(), layer.weightCount());
    }
    const auto descends = std::is_sorted_until(starts.begin(), starts.end());
    if (descends != starts.end()) {
        return refuse(StatusCode::BadConnectivity,
                      "row starts descend at row " + text(static_cast<std::uint64_t>(descends - starts.begin())));
    }
    if (starts.front() != 0 || starts.back() != layer.weightCount()) {
        return refuse(StatusCode::BadConnectivity, "row starts run from " + text(starts.front()) + " to " +
                                                       text(starts.back()) + "; they must run from 0 to the " +
                                                       text(layer.weightCount()) + " synapses");
    }
    return {};
}

template <class T>
Status checkConnectivity(const LayerDescription<T>& layer)
{
    if (!layer.isSparse) {
        const std::uint64_t needed = layer.shape.neurons() * layer.shape.outputs;
        return layer.weightCount() == needed ? Status{}
                                             : wrongSize("the array of weights [T, R, O]", layer.weightCount(), needed);
    }
    if (Status status = checkRowStarts(layer); !status.ok()) {
        return status;
    }
    const auto beyond = std::find_if(layer.columns.begin(), layer.columns.end(),
                                     [&](std::uint32_t column) { return column >= layer.shape.outputs; });
    if (beyond != layer.columns.end()) {
        return refuse(StatusCode::BadConnectivity,
                      "synapse " + text(static_cast<std::uint64_t>(beyond - layer.columns.begin())) +
                          " goes to output " + text(*beyond) + " of " + text(layer.shape.outputs));
    }
    return {};
}

template <class T>
Status checkDescription(const LayerDescription<T>& layer)
{
    if (Status status = checkShape(layer.shape); !status.ok()) {
        return status;
    }
    if (layer.forwardGroup == 0 || layer.backwardGroup == 0) {
        return refuse(StatusCode::BadShape, "a group size is 0; groups have at least one member");
    }
    if (!(layer.rowType == RowType::Real ? layer.narrowWeights.empty() : layer.weights.empty())) {
        return refuse(StatusCode::BadSize, "weights are given in two types; give those of the rows' type alone");
    }
    const std::uint64_t pairs = std::uint64_t{layer.shape.tables} * layer.shape.comparisons;
    if (layer.anchors.size() != pairs) {
        return wrongSize("the list of anchor pairs [T, C]", layer.anchors.size(), pairs);
    }
    const std::uint64_t codes = std::uint64_t{layer.shape.lags()} * layer.shape.tables * layer.shape.codeBits;
    if (layer.codes.size() != codes) {
        return wrongSize("the array of positional codes [S - 1, T, P]", layer.codes.size(), codes);
    }
    if (Status status = checkAnchors(layer.anchors, layer.shape); !status.ok()) {
        return status;
    }
    return checkConnectivity(layer);
}

} // namespace

std::optional<std::uint64_t> checkedProduct(std::initializer_list<std::uint64_t> factors)
{
    std::uint64_t product = 1;
    for (const std::uint64_t factor : factors) {
        if (factor != 0 && product > (kMaxProduct - 1) / factor) {
            return std::nullopt;
        }
        product *= factor;
    }
    return product;
}

template <class T>
Status Layer<T>::create(const LayerDescription<T>& description, std::optional<Layer>& layer)
{
    if (Status status = checkDescription(description); !status.ok()) {
        return status;
    }
    Layer made;
    made.m_description = description;
    for (std::size_t n = 0; n + 1 < description.rowStarts.size(); ++n) {
        const std::uint64_t groups =
            ceilDivide(description.rowStarts[n + 1] - description.rowStarts[n], description.forwardGroup);
        made.m_maxForwardGroups = std::max(made.m_maxForwardGroups, groups);
        made.m_groupCount += groups;
    }
    layer = made;
    return {};
}

template <class T>
WideLayer<T>::WideLayer(const Layer<T>& layer) : m_given(layer)
{
    const LayerDescription<T>& given = layer.description();
    if (given.rowType == RowType::Real) {
        return;
    }
    m_weights.reserve(given.narrowWeights.size());
    for (const std::uint16_t bits : given.narrowWeights) {
        const float wide = given.rowType == RowType::Float16 ? widened(Float16{bits}) : widened(BFloat16{bits});
        m_weights.push_back(static_cast<T>(wide));
    }
    m_own = layer.withWeights(m_weights);
}

template class Layer<float>;
template class Layer<double>;
template class WideLayer<float>;
template class WideLayer<double>;

} // namespace retro::lut
