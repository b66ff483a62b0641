// SPDX-License-Identifier: Apache-2.0
// The built-in composites; docs/composites.md has the table.
#include "core/base/editdistance.h"
#include "core/graph/attributes.h"
#include "core/lrp/composite/builtincheck.h"
#include "core/lrp/composite/builtintitle.h"
#include "core/lrp/composite/composite.h"
#include "core/lrp/rules/decomposedrule.h"
#include "core/lrp/rules/parametertext.h"
#include "core/lrp/rules/ruledeclaration.h"
#include "core/lrp/rules/rules.h"
#include "core/lrp/traversal/operandorigin.h"
#include "core/ops/layerkind.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

namespace retro::lrp
{

using execute::BoundModel;
using execute::NodeId;
using ops::StructureKind;
using Entries = std::vector<CompositeEntry>;

namespace
{

const std::vector<std::string> kConvolutions{"Conv", "ConvTranspose"};

CompositeEntry entry(StructureKind structure, RulePointer rule)
{
    Matcher matcher;
    matcher.structure = structure;
    return {std::move(matcher), std::move(rule)};
}

CompositeEntry convolutions(RulePointer rule)
{
    CompositeEntry result = entry(StructureKind::LinearMap, std::move(rule));
    result.matcher.ops = kConvolutions;
    return result;
}

CompositeEntry first(std::vector<std::string> operators, std::string input, RulePointer rule)
{
    Matcher matcher;
    matcher.ops = std::move(operators);
    matcher.firstWeight = true;
    matcher.firstFrom = std::move(input);
    return {std::move(matcher), std::move(rule)};
}

void append(Entries& entries, Entries more)
{
    entries.insert(entries.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

// What every LRP composite does with nodes that have no weights.
Entries baseMap(const RulePointer& bilinear)
{
    return {entry(StructureKind::Bilinear, bilinear),
            entry(StructureKind::SumOfOperands, normRule()),
            entry(StructureKind::Reduction, normRule()),
            entry(StructureKind::AveragePool, normRule()),
            entry(StructureKind::MaxPool, winnerRule()),
            entry(StructureKind::ElementWise, passRule()),
            entry(StructureKind::Normalisation, passRule()),
            entry(StructureKind::Softmax, passRule()),
            entry(StructureKind::ShapeMap, passRule()),
            entry(StructureKind::Product, uniformRule()),
            entry(StructureKind::Quotient, passRule()),
            entry(StructureKind::Differentiable, normRule()),
            entry(StructureKind::SelfNormalisation, passRule()),
            entry(StructureKind::Composed, decomposedRule()),
            entry(StructureKind::TableLookup, lutRule())};
}

// Inside recurrent operators, the signal takes all and its gate nothing (Arras et al. 2017).
CompositeEntry gateEntry()
{
    CompositeEntry result = entry(StructureKind::Product, signalTakesAllRule(0, {}));
    result.matcher.ops = {"Gate"};
    return result;
}

Entries gradientMap() { return {{Matcher{}, gradientRule()}}; }

// The parameters that the LRP composites share.
struct Shared
{
    LinearOptions epsilon;
    LinearOptions others;  // an epsilon that nobody sets, the same bias policy
    RulePointer first;     // null: the first weight layer is nothing special
    std::string firstFrom; // the input that the first layer is looked for from; any when empty
};

constexpr std::array<std::string_view, 4> kFirstNames{"none", "flat", "w-square", "z-box"};
enum class First : std::uint8_t { None, Flat, WSquare, ZBox };

RulePointer boxRule(ParameterReader& reader, const Stabiliser& stabiliser)
{
    auto [low, high] = readBox(reader);
    return zBoxRule(std::move(low), std::move(high), stabiliser);
}

RulePointer firstRule(ParameterReader& reader, First fallback, const LinearOptions& options)
{
    switch (static_cast<First>(reader.choice("first", kFirstNames, static_cast<std::size_t>(fallback)))) {
    case First::None:
        return nullptr;
    case First::Flat:
        return flatRule(options.stabiliser);
    case First::WSquare:
        return wSquareRule(options);
    case First::ZBox:
        return boxRule(reader, options.stabiliser);
    }
    return nullptr;
}

// Numbers of a composite's own where nobody gives others: epsilon of the rule epsilon, and of every other rule.
struct Epsilons
{
    double own = 1e-6;
    double others = 1e-6;
};

LinearOptions readEpsilonOptions(ParameterReader& reader, double epsilon = 1e-6)
{
    LinearOptions options = reader.linearOptions(epsilon);
    if (reader.flag("zero_bias", false)) {
        options.bias = BiasPolicy::Zero;
        options.biasFactor = 1;
    }
    return options;
}

Shared readShared(ParameterReader& reader, First fallback, const Epsilons& epsilons = {})
{
    Shared shared;
    shared.epsilon = readEpsilonOptions(reader, epsilons.own);
    shared.others = shared.epsilon;
    shared.others.stabiliser = {StabiliserKind::Add, epsilons.others, true};
    shared.first = firstRule(reader, fallback, shared.others);
    shared.firstFrom = reader.text("first_from");
    if (shared.first == nullptr && !shared.firstFrom.empty()) {
        reader.fail("first_from", "goes with a rule for the first layer: first=flat, w-square or z-box");
    }
    return shared;
}

Composite layered(const Shared& shared, std::vector<std::string> firstOperators, RulePointer convolution)
{
    Composite composite;
    if (shared.first != nullptr) {
        composite.entries.push_back(first(std::move(firstOperators), shared.firstFrom, shared.first));
    }
    composite.entries.push_back(convolutions(std::move(convolution)));
    composite.entries.push_back(entry(StructureKind::LinearMap, epsilonRule(shared.epsilon)));
    composite.entries.push_back(gateEntry());
    composite.entries.push_back(entry(StructureKind::TableLookup, lutRule(shared.epsilon.stabiliser)));
    append(composite.entries, baseMap(epsilonRule(shared.epsilon)));
    return composite;
}

Composite epsilonComposite(ParameterReader& reader)
{
    const Shared shared = readShared(reader, First::None);
    return layered(shared, {}, epsilonRule(shared.epsilon));
}

Composite plusComposite(ParameterReader& reader, First fallback)
{
    const Shared shared = readShared(reader, fallback);
    return layered(shared, {}, zPlusRule(shared.others));
}
Composite epsilonPlus(ParameterReader& reader) { return plusComposite(reader, First::None); }
Composite epsilonPlusFlat(ParameterReader& reader) { return plusComposite(reader, First::Flat); }

Composite alphaComposite(ParameterReader& reader, First fallback)
{
    const Shared shared = readShared(reader, fallback);
    return layered(shared, {}, alphaBetaRule(2, 1, shared.others));
}
Composite epsilonAlpha2Beta1(ParameterReader& reader) { return alphaComposite(reader, First::None); }
Composite epsilonAlpha2Beta1Flat(ParameterReader& reader) { return alphaComposite(reader, First::Flat); }

// The presets of iNNvestigate: both denominators of alpha-beta have the whole bias, dense layers a large epsilon; its
// other rules guard against denominators of exactly 0 alone.
Composite preset(ParameterReader& reader, double beta, First fallback)
{
    const Shared shared = readShared(reader, fallback, {0.1, 0});
    return layered(shared, {}, alphaBetaRule(1 + beta, beta, shared.others, BiasParts::Both));
}
Composite presetA(ParameterReader& reader) { return preset(reader, 0, First::None); }
Composite presetB(ParameterReader& reader) { return preset(reader, 1, First::None); }
Composite presetAFlat(ParameterReader& reader) { return preset(reader, 0, First::Flat); }
Composite presetBFlat(ParameterReader& reader) { return preset(reader, 1, First::Flat); }

Composite epsilonGammaBox(ParameterReader& reader)
{
    const Shared shared = readShared(reader, First::ZBox);
    const double gamma = reader.number("gamma", 0.25);
    return layered(shared, kConvolutions, gammaRule(gamma, shared.others));
}

Composite excitationBackprop(ParameterReader& reader)
{
    const LinearOptions options = readEpsilonOptions(reader);
    Composite composite;
    composite.entries = {entry(StructureKind::LinearMap, zPlusRule(options)),
                         entry(StructureKind::SumOfOperands, normRule()), entry(StructureKind::AveragePool, normRule()),
                         entry(StructureKind::Reduction, normRule())};
    append(composite.entries, gradientMap());
    return composite;
}

Composite reluComposite(RulePointer rule)
{
    Composite composite;
    Matcher relu;
    relu.ops = {"Relu"};
    composite.entries.push_back({std::move(relu), std::move(rule)});
    append(composite.entries, gradientMap());
    return composite;
}
Composite guidedBackprop(ParameterReader&) { return reluComposite(guidedBackpropRule()); }
Composite deconvNet(ParameterReader&) { return reluComposite(deconvNetRule()); }
Composite betaSmooth(ParameterReader& reader) { return reluComposite(betaSmoothRule(reader.number("beta", 10))); }

RulePointer dynamicSoftmax(ParameterReader& reader, const Stabiliser& stabiliser)
{
    static constexpr std::array<std::string_view, 3> kNames{"identity", "attn", "attn_tril"};
    const std::size_t choice = reader.choice("softmax", kNames, 0);
    return choice == 0 ? passRule() : softmaxTaylorRule(choice == 2, stabiliser);
}

Composite dynamic(ParameterReader& reader)
{
    constexpr double kEpsilon = 1e-11;
    LinearOptions options;
    options.stabiliser.epsilon = reader.number("epsilon", kEpsilon);
    const RulePointer linear = epsilonRule(options, BilinearShare::Full);
    const RulePointer ratio = absRatioRule(options.stabiliser.epsilon);
    Composite composite;
    composite.entries = {entry(StructureKind::LinearMap, linear),
                         entry(StructureKind::Bilinear, linear),
                         entry(StructureKind::SumOfOperands, ratio),
                         entry(StructureKind::Product, ratio),
                         entry(StructureKind::Quotient, ratio),
                         entry(StructureKind::Reduction, ratio),
                         entry(StructureKind::AveragePool, uniformRule()),
                         entry(StructureKind::MaxPool, winnerRule()),
                         entry(StructureKind::ElementWise, passRule()),
                         entry(StructureKind::Normalisation, passRule()),
                         entry(StructureKind::Softmax, dynamicSoftmax(reader, options.stabiliser)),
                         entry(StructureKind::ShapeMap, passRule()),
                         entry(StructureKind::Differentiable, normRule()),
                         entry(StructureKind::SelfNormalisation, passRule()),
                         entry(StructureKind::Composed, decomposedRule()),
                         entry(StructureKind::TableLookup, lutRule(options.stabiliser))};
    const double fraction = readFraction(reader, "relevance_filter");
    for (CompositeEntry& one : composite.entries) {
        one.rule = isDecomposed(*one.rule) ? one.rule : filteredRule(one.rule, fraction);
    }
    return composite;
}

// What AttnLRP and CP-LRP share: epsilon everywhere, LayerNormalization with its deviation held constant.
struct Transformer
{
    LinearOptions epsilon;
    Entries ownEntries; // of one of the two
    RulePointer bilinear;
    RulePointer softmax;
};

// Layers with weights: epsilon, or gamma where it is asked for.
RulePointer gammaOr(ParameterReader& reader, std::string_view name, const LinearOptions& epsilon)
{
    const double gamma = reader.number(name, 0);
    return gamma == 0 ? epsilonRule(epsilon) : gammaRule(gamma, epsilon);
}

Composite transformerComposite(ParameterReader& reader, Transformer parts)
{
    const Stabiliser& stabiliser = parts.epsilon.stabiliser;
    Composite composite;
    composite.entries = {gateEntry()};
    append(composite.entries, std::move(parts.ownEntries));
    composite.entries.push_back(convolutions(gammaOr(reader, "gamma_conv", parts.epsilon)));
    append(composite.entries,
           {entry(StructureKind::LinearMap, gammaOr(reader, "gamma_linear", parts.epsilon)),
            entry(StructureKind::Bilinear, parts.bilinear), entry(StructureKind::Softmax, parts.softmax),
            entry(StructureKind::SumOfOperands, normRule(stabiliser)),
            entry(StructureKind::Reduction, normRule(stabiliser)),
            entry(StructureKind::AveragePool, normRule(stabiliser)),
            entry(StructureKind::Differentiable, normRule(stabiliser)),
            entry(StructureKind::TableLookup, lutRule(stabiliser)),
            entry(StructureKind::Normalisation, epsilonRule(parts.epsilon)), // its statistics are constant anyway
            entry(StructureKind::SelfNormalisation, detachedDeviationRule(stabiliser))});
    append(composite.entries, baseMap(parts.bilinear));
    return composite;
}

// The same as one pass of gradients, times the value at the end: no denominators, so nothing to stabilise (Arras et al.
// 2025).
Composite attnLrpAsGradient()
{
    Composite composite;
    composite.timesInput = composite.dividesStart = true;
    CompositeEntry gate = entry(StructureKind::Product, gradientRule({GradientShare::First, false}));
    gate.matcher.ops = {"Gate"};
    composite.entries = {std::move(gate),
                         entry(StructureKind::ElementWise, secantRule()),
                         entry(StructureKind::Quotient, secantRule()),
                         entry(StructureKind::SelfNormalisation, detachedGradientRule()),
                         entry(StructureKind::Composed, decomposedRule()),
                         {Matcher{}, gradientRule({GradientShare::Equal, true})}};
    return composite;
}

Composite attnLrp(ParameterReader& reader)
{
    static constexpr std::array<std::string_view, 2> kAttnForms{"relevance", "gradient_x_input"};
    if (reader.choice("form", kAttnForms, 0) == 1) {
        return attnLrpAsGradient();
    }
    const LinearOptions epsilon = readEpsilonOptions(reader);
    return transformerComposite(reader,
                                {epsilon, {}, epsilonRule(epsilon), softmaxTaylorRule(false, epsilon.stabiliser)});
}

// Gates from the surest to the least sure: of two activations, the bounded one gates the other.
const std::array<std::vector<std::string>, 2> kGates{
    std::vector<std::string>{"Sigmoid", "HardSigmoid", "Softmax"},
    std::vector<std::string>{"Swish", "Silu", "Gelu", "Relu", "HardSwish", "Mish", "Elu", "Tanh", "Softplus"}};

CompositeEntry detachedOperand(StructureKind structure, std::size_t operand, std::vector<std::string> from,
                               const Stabiliser& stabiliser)
{
    CompositeEntry result = entry(structure, signalTakesAllRule(1 - operand, stabiliser));
    result.matcher.operandFrom = std::move(from);
    result.matcher.operand = operand;
    return result;
}

Composite cpLrp(ParameterReader& reader)
{
    const LinearOptions epsilon = readEpsilonOptions(reader);
    Entries own;
    for (const std::size_t operand : {0U, 1U}) {
        own.push_back(detachedOperand(StructureKind::Bilinear, operand, {"Softmax"}, epsilon.stabiliser));
    }
    for (const std::vector<std::string>& gates : kGates) {
        for (const std::size_t operand : {0U, 1U}) {
            own.push_back(detachedOperand(StructureKind::Product, operand, gates, epsilon.stabiliser));
        }
    }
    return transformerComposite(reader, {epsilon, std::move(own), epsilonRule(epsilon), stopRule()});
}

Composite gradient(ParameterReader&)
{
    Composite composite;
    composite.entries = gradientMap();
    return composite;
}

Composite gradientTimesInput(ParameterReader& reader)
{
    Composite composite = gradient(reader);
    composite.timesInput = true;
    return composite;
}

struct Builtin
{
    std::string_view name;
    std::string_view title; ///< for people
    Composite (*make)(ParameterReader&);
};

constexpr std::array kBuiltins{
    Builtin{"epsilon", "Epsilon", epsilonComposite},
    Builtin{"epsilon_plus", "Epsilon + z-plus", epsilonPlus},
    Builtin{"epsilon_plus_flat", "Epsilon + z-plus, flat", epsilonPlusFlat},
    Builtin{"epsilon_alpha2_beta1", "Alpha 2 beta 1", epsilonAlpha2Beta1},
    Builtin{"epsilon_alpha2_beta1_flat", "Alpha 2 beta 1, flat", epsilonAlpha2Beta1Flat},
    Builtin{"epsilon_gamma_box", "Gamma, box", epsilonGammaBox},
    Builtin{"attnlrp", "AttnLRP", attnLrp},
    Builtin{"cp_lrp", "CP-LRP", cpLrp},
    Builtin{"preset_a", "Preset A", presetA},
    Builtin{"preset_a_flat", "Preset A, flat", presetAFlat},
    Builtin{"preset_b", "Preset B", presetB},
    Builtin{"preset_b_flat", "Preset B, flat", presetBFlat},
    Builtin{"excitation_backprop", "Excitation backprop", excitationBackprop},
    Builtin{"guided_backprop", "Guided backprop", guidedBackprop},
    Builtin{"deconvnet", "DeconvNet", deconvNet},
    Builtin{"beta_smooth", "Beta smooth", betaSmooth},
    Builtin{"dynamic", "Dynamic (magnitudes)", dynamic},
    Builtin{"gradient", "Gradient", gradient},
    Builtin{"gradient_x_input", "Gradient × input", gradientTimesInput},
};

const std::string kPlace = "composite";

base::Error unknownName(const std::string& name)
{
    const std::string known = fmt::format("{}, auto", fmt::join(builtinNames(), ", "));
    return base::usageError(fmt::format("there is no composite \"{}\"; built in are {}; a file must end in .json{}",
                                        name, known, base::guessText(name, builtinNames())),
                            kPlace);
}

struct Choice
{
    std::string name;
    std::string reason;
};

// True where probabilities weigh values: Attention, or a product of two computed operands, one of them from a Softmax.
bool isAttention(const BoundModel& model, NodeId id)
{
    static const std::vector<std::string> kSoftmax{"Softmax"};
    const StructureKind kind = model.op(id).structure().kind();
    return (kind == StructureKind::Composed && ops::isAttention(model.graph().node(id))) ||
           (kind == StructureKind::Bilinear && comesFrom(model, id, std::nullopt, kSoftmax));
}

bool hasAttention(const BoundModel& model)
{
    for (std::size_t i = 0; i < model.graph().nodeCount(); ++i) {
        if (isAttention(model, NodeId(i))) {
            return true;
        }
    }
    return false;
}

Choice chooseFor(const BoundModel& model)
{
    if (hasAttention(model)) {
        return {"attnlrp",
                "the model has attention: epsilon with the rules of AttnLRP for softmax, products and norms"};
    }
    std::size_t convolutionCount = 0;
    for (std::size_t i = 0; i < model.graph().nodeCount(); ++i) {
        const std::string& op = model.graph().node(NodeId(i)).op;
        convolutionCount += std::find(kConvolutions.begin(), kConvolutions.end(), op) != kConvolutions.end() ? 1 : 0;
    }
    if (convolutionCount == 0) {
        return {"epsilon", "the model has no convolutions: epsilon in every layer with weights"};
    }
    return {"epsilon_plus",
            fmt::format("the model has {} convolution{}: z-plus in convolutions, epsilon in dense layers",
                        convolutionCount, convolutionCount == 1 ? "" : "s")};
}

/// True of a model that predicts words: an output has a score for each row of a table that is looked up, for each
/// token (batch × tokens × rows).
bool predictsTokens(const BoundModel& model)
{
    std::set<std::int64_t> rows;
    for (const graph::Node& node : model.graph().nodes()) {
        if (node.op.starts_with("Gather") && !node.inputs.empty() && node.inputs.front().isValid()) {
            const tensor::Shape& table = model.typeOf(node.inputs.front()).shape;
            if (table.size() >= 2) {
                rows.insert(table.front());
            }
        }
    }
    const auto outputs = model.graph().outputs();
    return std::any_of(outputs.begin(), outputs.end(), [&](base::ValueId output) {
        const ops::TensorType& type = model.typeOf(output);
        return tensor::isFloating(type.dtype) && type.shape.size() == 3 && rows.contains(type.shape.back());
    });
}

/// True where something says that no token sees those behind it: an attention, or a mask that positions are compared
/// for.
bool looksCausal(const graph::Graph& graph)
{
    static constexpr std::array<std::string_view, 5> kSigns{"Greater", "GreaterOrEqual", "Less", "LessOrEqual",
                                                            "Trilu"};
    return std::ranges::any_of(graph.nodes(), [](const graph::Node& node) {
        return graph::isSet(node, "is_causal") || std::ranges::find(kSigns, node.op) != kSigns.end();
    });
}

/// The 16-bit type that layers round their results to; nothing where they keep more digits.
std::optional<tensor::DType> narrowTypeOf(const BoundModel& model)
{
    for (std::size_t i = 0; i < model.graph().nodeCount(); ++i) {
        const ops::BoundOperator& op = model.op(NodeId(i));
        const StructureKind kind = op.structure().kind();
        const std::optional<tensor::DType> rounded = op.roundedTo(0);
        const bool isLayer = kind == StructureKind::LinearMap || kind == StructureKind::Bilinear;
        if (isLayer && rounded && (*rounded == tensor::DType::Float16 || *rounded == tensor::DType::BFloat16)) {
            return rounded;
        }
    }
    return std::nullopt;
}

/// Nothing says how denominators are kept from 0, and the form has some. Language models have denominators of any size,
/// some of them smaller than any usual epsilon, so that AttnLRP has none there (Achtibat et al. 2024: gradients).
bool saysNothingOfDenominators(const RuleParameters& parameters)
{
    return !parameters.contains("epsilon") && !parameters.contains("stabiliser") && !parameters.contains("form");
}

base::Result<RuleParameters> parametersOf(const std::string& specification)
{
    const std::size_t colon = specification.find(':');
    return parseParameters(
        colon == std::string::npos ? std::string_view() : std::string_view(specification).substr(colon + 1), kPlace);
}

base::Result<Composite> made(const Builtin& builtin, const RuleParameters& parameters)
{
    ParameterReader reader(parameters);
    Composite composite = builtin.make(reader);
    const base::Result<void> status = reader.finish();
    return status.ok() ? base::Result<Composite>(std::move(composite))
                       : base::within(status.error(), fmt::format("composite {}", builtin.name));
}

} // namespace

base::Result<Composite> plainComposite(const std::string& specification)
{
    const std::string name = specification.substr(0, specification.find(':'));
    const auto* found = std::ranges::find(kBuiltins, name, &Builtin::name);
    RETRO_TRY(const RuleParameters parameters, parametersOf(specification));
    return found == kBuiltins.end() ? base::Result<Composite>(unknownName(name)) : made(*found, parameters);
}

base::Result<void> checkBuiltin(const std::string& specification)
{
    if (specification.substr(0, specification.find(':')) == "auto") {
        RETRO_CHECK(parametersOf(specification));
        return {};
    }
    RETRO_CHECK(plainComposite(specification));
    return {};
}

bool isOfGradients(const Composite& composite)
{
    const auto isLinear = [](const Matcher& matcher) {
        return !matcher.structure || *matcher.structure == StructureKind::LinearMap ||
               *matcher.structure == StructureKind::Bilinear;
    };
    const auto isForeign = [&](const CompositeEntry& entry) {
        return isLinear(entry.matcher) && !traitsOf(entry.rule->name()).isOfGradients;
    };
    return !composite.dividesStart && std::ranges::none_of(composite.entries, isForeign) &&
           std::ranges::any_of(composite.entries, [&](const CompositeEntry& entry) {
               return isLinear(entry.matcher) && traitsOf(entry.rule->name()).isGradient;
           });
}

std::vector<std::string> builtinNames()
{
    std::vector<std::string> names;
    for (const Builtin& builtin : kBuiltins) {
        names.emplace_back(builtin.name);
    }
    return names;
}

std::string_view builtinTitle(std::string_view name)
{
    const auto* found = std::ranges::find(kBuiltins, name, &Builtin::name);
    return found == kBuiltins.end() ? std::string_view() : found->title;
}

base::Result<Composite> builtinComposite(const std::string& specification, const BoundModel& model, bool hasRulesBefore)
{
    const std::size_t colon = specification.find(':');
    Choice choice{specification.substr(0, colon), {}};
    if (choice.name == "auto") {
        choice = chooseFor(model);
    }
    const auto found = std::find_if(kBuiltins.begin(), kBuiltins.end(),
                                    [&choice](const Builtin& builtin) { return builtin.name == choice.name; });
    if (found == kBuiltins.end()) {
        return unknownName(choice.name);
    }
    RETRO_TRY(RuleParameters parameters, parametersOf(specification));
    std::string written = colon == std::string::npos ? choice.name : choice.name + specification.substr(colon);
    if (choice.name == "attnlrp" && saysNothingOfDenominators(parameters)) {
        const std::optional<tensor::DType> narrow =
            parameters.empty() && !hasRulesBefore ? narrowTypeOf(model) : std::nullopt;
        const bool isOfWords = predictsTokens(model);
        const bool keepsRelevance = isOfWords && looksCausal(model.graph());
        if (narrow && !keepsRelevance) {
            parameters["form"] = RuleParameter(std::string("gradient_x_input"));
            written += ":form=gradient_x_input";
        } else if (isOfWords) {
            parameters["epsilon"] = RuleParameter(0.0);
        }
        if (narrow) {
            choice.reason += fmt::format("{}layers round to {}, so sums that nearly cancel come to 0, and what goes "
                                         "through them is lost: {}",
                                         choice.reason.empty() ? "" : "; ", tensor::nameOf(*narrow),
                                         keepsRelevance ? "form=gradient_x_input divides by no sum, and gives no "
                                                          "relevance of values in between"
                                                        : "AttnLRP in the form that divides by no sum; form=relevance "
                                                          "gives the other");
        }
    }
    RETRO_TRY(Composite composite, made(*found, parameters));
    composite.name = std::move(written);
    composite.reason = std::move(choice.reason);
    return composite;
}

} // namespace retro::lrp
