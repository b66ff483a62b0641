// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/usualpreparation.h"

#include "core/ops/elements.h"
#include "core/ops/layerkind.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace retro::diagnosis
{

namespace
{

using graph::Graph;
using graph::Node;

constexpr std::array kChoices{
    UsualChoice{"ImageNet's mean and std", "0.485,0.456,0.406", "0.229,0.224,0.225"},
    UsualChoice{"CLIP's mean and std", "0.48145466,0.4578275,0.40821073", "0.26862954,0.26130258,0.27577711"},
    UsualChoice{"the mean and std of CIFAR", "0.4914,0.4822,0.4465", "0.247,0.2435,0.2616"},
    UsualChoice{"numbers from -1 to 1", "0.5", "0.5"}, UsualChoice{.name = "pixels from 0 to 255", .scale = "0,255"}};
constexpr const UsualChoice& kImageNet = kChoices[0];
constexpr const UsualChoice& kClip = kChoices[1];
constexpr const UsualChoice& kCifar = kChoices[2];
constexpr const UsualChoice& kAroundZero = kChoices[3];
constexpr const UsualChoice& kBytes = kChoices[4];

constexpr std::int64_t kCifarSide = 32;

/// Constants in front of the first layer: a factor below, or a shift above, is of pixels from 0 to 255.
constexpr double kFactorOfBytes = 0.03;
constexpr double kShiftOfBytes = 2;
/// Means of pixels that the first normalisation has seen. Of numbers from 0 to 1 they are about 0.45.
constexpr double kMostAroundZero = 0.2;
constexpr double kLeastOfBytes = 5;
/// Share of the running means that one mean of all pixels has to explain to be believed.
constexpr double kLeastExplained = 0.3;

/// What was seen of the pixels.
enum class Seen : std::uint8_t { Nothing, ZeroToOne, AroundZero, Bytes };

bool isAmong(std::span<const std::string_view> names, std::string_view name)
{
    return std::ranges::find(names, name) != names.end();
}

/// Way from the input to the first layer.
class FirstSteps
{
public:
    FirstSteps(const ModelFacts& model, ValueId input) : m_model(model), m_graph(model.graph())
    {
        constexpr int kMostSteps = 24;
        ValueId value = input;
        for (int i = 0; i < kMostSteps && value.isValid(); ++i) {
            value = step(value);
        }
    }

    [[nodiscard]] bool scalesInside() const { return m_scalesInside; }
    [[nodiscard]] Seen seen() const { return m_seen; }
    [[nodiscard]] const Node* firstLayer() const { return m_first; }

private:
    /// The value behind; invalid at the first layer and where ways part.
    ValueId step(ValueId value)
    {
        using enum ops::Elements;
        static constexpr std::array<std::string_view, 5> kLayers{"Conv", "MatMul", "Gemm", "QLinearConv",
                                                                 "ConvInteger"};
        static constexpr std::array<std::string_view, 6> kNormalises{"InstanceNormalization",     "LayerNormalization",
                                                                     "MeanVarianceNormalization", "LpNormalization",
                                                                     "GroupNormalization",        "ImageScaler"};
        ValueId next;
        for (const graph::Use& use : m_graph.uses(value)) {
            const Node& node = m_graph.node(use.node);
            if (isAmong(kLayers, node.op)) {
                m_first = &node;
                return {};
            }
            if (isAmong(kNormalises, node.op)) {
                m_scalesInside = true;
                return {};
            }
            const bool handsOn = ops::keepsElements(node) || node.op == "Resize" ||
                                 ops::areElements(node, {Turned, Padded, Quantised, Bounded});
            const bool goesOn = (handsOn && use.slot == 0) || takeNumbers(node, use.slot);
            next = goesOn && !node.outputs.empty() ? node.outputs.front() : next;
        }
        return next;
    }

    /// Add, Sub, Mul, Div with constants, and a normalisation by them; false for others.
    bool takeNumbers(const Node& node, std::uint32_t slot)
    {
        using enum ops::Elements;
        const bool isKnown = ops::combinesTwo(node, {Summed, Subtracted, Multiplied, Divided});
        if (ops::isBatchNormalisation(node) && slot == 0) {
            constexpr std::size_t kMean = 3;
            return takeShift(meanOf(m_model.constantOperand(node, kMean)));
        }
        const Tensor constant = isKnown ? m_model.constantOperand(node, slot == 0 ? 1 : 0) : Tensor();
        if (!constant.isValid() || constant.size() == 0) {
            return false;
        }
        const double size = meanOf(constant);
        if (ops::areElements(node, {Summed, Subtracted})) {
            return takeShift(size);
        }
        m_factor *= ops::areElements(node, {Multiplied}) ? size : 1 / size;
        m_scalesInside = true;
        m_seen = m_factor < kFactorOfBytes ? Seen::Bytes : m_seen;
        return true;
    }

    bool takeShift(double shift)
    {
        m_scalesInside = true;
        m_seen = shift > kShiftOfBytes && m_factor > kFactorOfBytes ? Seen::Bytes : m_seen;
        return true;
    }

    static double meanOf(const Tensor& constant)
    {
        double sum = 0;
        for (std::int64_t i = 0; constant.isValid() && i < constant.size(); ++i) {
            sum += std::abs(constant.at(i));
        }
        return constant.isValid() && constant.size() > 0 ? sum / static_cast<double>(constant.size()) : 0;
    }

    const ModelFacts& m_model;
    const Graph& m_graph;
    const Node* m_first = nullptr;
    double m_factor = 1;
    bool m_scalesInside = false;
    Seen m_seen = Seen::Nothing;
};

/// The normalisation that alone reads the result of a layer; null where there is none.
const Node* normalisationBehind(const Graph& graph, const Node& layer)
{
    const auto uses = graph.uses(layer.outputs.front());
    const Node* node = uses.size() == 1 ? &graph.node(uses.front().node) : nullptr;
    return node != nullptr && ops::isBatchNormalisation(*node) && uses.front().slot == 0 ? node : nullptr;
}

/// The mean of the pixels that a convolution has read, from the running means of its channels: each is about the sum of
/// its weights times that mean.
Seen seenByNormalisation(const ModelFacts& model, const Node& layer)
{
    constexpr std::size_t kMean = 3;
    constexpr std::int64_t kLeastChannels = 8;
    const Node* norm = layer.op == "Conv" ? normalisationBehind(model.graph(), layer) : nullptr;
    const Tensor weight = norm == nullptr ? Tensor() : model.weightOperand(layer, 1);
    const Tensor means = norm == nullptr ? Tensor() : model.constantOperand(*norm, kMean);
    if (!weight.isValid() || !means.isValid() || means.size() < kLeastChannels || weight.rank() == 0 ||
        weight.shape()[0] != means.size()) {
        return Seen::Nothing;
    }
    const Tensor bias = layer.inputs.size() > 2 ? model.constantOperand(layer, 2) : Tensor();
    const std::int64_t length = weight.size() / means.size();
    double sums = 0;
    double products = 0;
    double squares = 0;
    for (std::int64_t k = 0; k < means.size(); ++k) {
        double sum = 0;
        for (std::int64_t i = 0; i < length; ++i) {
            sum += weight.at(k * length + i);
        }
        const double mean = means.at(k) - (bias.isValid() ? bias.at(k) : 0);
        sums += sum * sum;
        products += sum * mean;
        squares += mean * mean;
    }
    if (!(sums > 0) || !(squares > 0)) {
        return Seen::Nothing; // not trained
    }
    const double pixel = products / sums;
    const bool isBelieved = products * products / (sums * squares) > kLeastExplained;
    if (std::abs(pixel) < kMostAroundZero) {
        return Seen::AroundZero;
    }
    if (!isBelieved) {
        return Seen::Nothing;
    }
    return pixel > kLeastOfBytes ? Seen::Bytes : Seen::ZeroToOne;
}

/// Extents that the input declares, by name of the axis; 0 where they are free.
struct Extents
{
    std::int64_t channels = 0;
    std::int64_t rows = 0;
    std::int64_t columns = 0;
};

std::optional<Extents> extentsOf(const graph::Value& input, bool isChannelsLast)
{
    if (!input.shape || input.shape->size() != 4) {
        return std::nullopt;
    }
    const auto at = [&](std::size_t axis) { return (*input.shape)[axis].extent.value_or(0); };
    return isChannelsLast ? Extents{at(3), at(1), at(2)} : Extents{at(1), at(2), at(3)};
}

/// The largest number of classes that an output of at most two axes declares.
std::int64_t classesOf(const Graph& graph)
{
    std::int64_t classes = 0;
    for (const ValueId output : graph.outputs()) {
        const auto& shape = graph.value(output).shape;
        if (shape && !shape->empty() && shape->size() <= 2) {
            classes = std::max(classes, shape->back().extent.value_or(0));
        }
    }
    return classes;
}

bool holds(std::string_view text, std::string_view word)
{
    const auto found = std::ranges::search(
        text, word, [](char a, char b) { return (a >= 'A' && a <= 'Z' ? static_cast<char>(a + 32) : a) == b; });
    return !found.empty();
}

/// A word that the names of the graph, its nodes and what their exporter noted hold; empty = none of them.
std::string_view nameIn(const Graph& graph, std::span<const std::string_view> words)
{
    for (const std::string_view word : words) {
        const bool isNamed =
            holds(graph.name(), word) || std::ranges::any_of(graph.nodes(), [&](const Node& node) {
                return holds(node.scope, word) ||
                       std::ranges::any_of(node.metadata, [&](const auto& one) { return holds(one.second, word); });
            });
        if (isNamed) {
            return word;
        }
    }
    return {};
}

ExpectedPreparation expected(const UsualChoice& choice, std::string why)
{
    return {std::move(why), std::string(choice.name), choice.option()};
}

/// What sizes, classes and names say.
std::optional<ExpectedPreparation> byNames(const Graph& graph, const Extents& extents, bool isChannelsLast)
{
    static constexpr std::array<std::int64_t, 12> kSides{224, 227, 240, 260, 288, 299, 331, 336, 380, 384, 448, 456};
    static constexpr std::array<std::int64_t, 4> kClasses{1000, 1001, 21841, 21843};
    static constexpr std::array<std::string_view, 4> kCollections{"torchvision", "imagenet", "timm.", "timm/"};
    static constexpr std::array<std::string_view, 1> kClips{"clip"};
    const UsualChoice& usual = isChannelsLast ? kAroundZero : kImageNet;
    const std::int64_t classes = classesOf(graph);
    const bool isSquare = extents.rows == extents.columns;
    if (isSquare && extents.rows == kCifarSide && (classes == 10 || classes == 100)) {
        return expected(kCifar, fmt::format("it reads 32 × 32 pixels and has {} classes", classes));
    }
    if (std::ranges::find(kClasses, classes) != kClasses.end()) {
        return expected(usual, fmt::format("it has {} classes, as networks for ImageNet have", classes));
    }
    const bool isUsualSide = isSquare && std::ranges::find(kSides, extents.rows) != kSides.end();
    if (const std::string_view word = nameIn(graph, kCollections); !word.empty()) {
        return expected(usual, fmt::format("its names say \"{}\"", word));
    }
    if (isUsualSide && !nameIn(graph, kClips).empty()) {
        return expected(kClip, "its names say \"clip\"");
    }
    return isUsualSide ? std::optional(expected(usual, fmt::format("it reads {0} × {0} pixels, as networks that begin "
                                                                   "with ImageNet do",
                                                                   extents.rows)))
                       : std::nullopt;
}

} // namespace

std::string UsualChoice::option() const
{
    return mean.empty() ? fmt::format("--scale {}", scale) : fmt::format("--mean {} --std {}", mean, deviation);
}

std::span<const UsualChoice> usualChoices() { return kChoices; }

std::optional<ExpectedPreparation> expectedPreparation(const ModelFacts& model, const PixelPreparation& pixels)
{
    constexpr std::int64_t kColours = 3;
    const Graph& graph = model.graph();
    const auto input = graph.findValue(pixels.input);
    const auto extents = input ? extentsOf(graph.value(*input), pixels.isChannelsLast) : std::nullopt;
    if (pixels.isChosen || !extents || extents->channels != kColours ||
        !tensor::isFloating(graph.value(*input).dtype)) {
        return std::nullopt;
    }
    const FirstSteps steps(model, *input);
    const bool areOne = pixels.high <= kShiftOfBytes;
    if (steps.scalesInside()) {
        return steps.seen() == Seen::Bytes && areOne
                   ? std::optional(expected(kBytes, "its first nodes scale numbers from 0 to 255"))
                   : std::nullopt;
    }
    const Seen seen = steps.firstLayer() == nullptr ? Seen::Nothing : seenByNormalisation(model, *steps.firstLayer());
    if (seen == Seen::ZeroToOne) {
        return std::nullopt;
    }
    if (seen == Seen::Bytes) {
        return areOne ? std::optional(expected(kBytes, "its first normalisation has seen numbers from 0 to 255"))
                      : std::nullopt;
    }
    const auto named = byNames(graph, *extents, pixels.isChannelsLast);
    if (seen == Seen::AroundZero) {
        const std::string why = "its first normalisation has seen numbers around 0";
        return named ? ExpectedPreparation{why + ", and " + named->why, named->name, named->option}
                     : expected(pixels.isChannelsLast ? kAroundZero : kImageNet, why);
    }
    return named;
}

} // namespace retro::diagnosis
