// SPDX-License-Identifier: Apache-2.0
#include "tests/core/lrp/goldenspec.h"

#include "core/lrp/rules/rules.h"

namespace retro::lrptest
{

using lrp::CompositeEntry;
using lrp::LinearOptions;
using lrp::Matcher;
using lrp::RulePointer;
using nlohmann::json;
using ops::StructureKind;

namespace
{

// ["gamma", 0.25]: the rule and its numbers.
base::Result<RulePointer> weightRule(const json& words, LinearOptions options, const std::string& field)
{
    const std::string name = words.at(0).get<std::string>();
    const auto number = [&words](std::size_t i) { return words.at(i).get<double>(); };
    if (name == "epsilon") {
        options.stabiliser.epsilon = number(1);
        return lrp::epsilonRule(options);
    }
    if (name == "gamma") {
        return lrp::gammaRule(number(1), options);
    }
    if (name == "alphabeta") {
        return lrp::alphaBetaRule(number(1), number(2), options);
    }
    if (name == "gradient") {
        return lrp::gradientRule();
    }
    if (name == "flat") {
        return lrp::flatRule();
    }
    if (name == "wsquare") {
        return lrp::wSquareRule(options);
    }
    if (name == "zbox") {
        return lrp::zBoxRule(number(1), number(2));
    }
    return base::inputError("there is no rule " + name, field);
}

CompositeEntry entry(StructureKind structure, RulePointer rule, std::vector<std::string> operators = {})
{
    Matcher matcher;
    matcher.structure = structure;
    matcher.ops = std::move(operators);
    return {std::move(matcher), std::move(rule)};
}

base::Result<CompositeEntry> firstLayer(const json& spec, const LinearOptions& options)
{
    RETRO_TRY(RulePointer rule, weightRule(spec.at("first"), options, "first"));
    Matcher matcher;
    matcher.firstWeight = true;
    matcher.ops = spec.value("first_ops", std::vector<std::string>{"Conv", "ConvTranspose", "Gemm", "MatMul"});
    return CompositeEntry{std::move(matcher), std::move(rule)};
}

// What the word means on ReLU; null: there is no such word.
RulePointer onRelu(const json& spec, const std::string& word)
{
    if (word == "pass") {
        return lrp::passRule();
    }
    if (word == "grad") {
        return lrp::gradientRule();
    }
    if (word == "guided") {
        return lrp::guidedBackpropRule();
    }
    if (word == "deconv") {
        return lrp::deconvNetRule();
    }
    return word == "beta" ? lrp::betaSmoothRule(spec.value("beta", 10.0)) : nullptr;
}

base::Result<void> addWeights(const json& spec, lrp::Composite& composite)
{
    LinearOptions options;
    options.bias = spec.value("zero_bias", false) ? lrp::BiasPolicy::Zero : lrp::BiasPolicy::Absorb;
    if (spec.contains("first")) {
        RETRO_TRY(CompositeEntry first, firstLayer(spec, options));
        composite.entries.push_back(std::move(first));
    }
    RETRO_TRY(RulePointer conv, weightRule(spec.at("conv"), options, "conv"));
    RETRO_TRY(RulePointer dense, weightRule(spec.at("dense"), options, "dense"));
    composite.entries.push_back(entry(StructureKind::LinearMap, std::move(conv), {"Conv", "ConvTranspose"}));
    composite.entries.push_back(entry(StructureKind::LinearMap, std::move(dense)));
    return {};
}

base::Result<void> addActivations(const json& spec, lrp::Composite& composite)
{
    const std::string word = spec.value("act", "pass");
    const RulePointer relu = onRelu(spec, word);
    if (relu == nullptr) {
        return base::inputError("there is no activation rule " + word, "act");
    }
    composite.entries.push_back(entry(StructureKind::ElementWise, relu, {"Relu"}));
    composite.entries.push_back(
        entry(StructureKind::ElementWise, word == "pass" ? lrp::passRule() : lrp::gradientRule()));
    return {};
}

base::Result<void> addSums(const json& spec, lrp::Composite& composite)
{
    const std::string word = spec.value("norm", "norm");
    if (word != "norm" && word != "grad") {
        return base::inputError("there is no norm rule " + word, "norm");
    }
    const RulePointer rule = word == "grad" ? lrp::gradientRule() : lrp::normRule();
    for (const StructureKind kind :
         {StructureKind::SumOfOperands, StructureKind::Reduction, StructureKind::AveragePool}) {
        composite.entries.push_back(entry(kind, rule));
    }
    return {};
}

} // namespace

base::Result<lrp::Composite> compositeOfSpec(const json& spec)
{
    lrp::Composite composite;
    composite.name = "spec " + spec.dump();
    try {
        RETRO_CHECK(addWeights(spec, composite));
        RETRO_CHECK(addActivations(spec, composite));
        RETRO_CHECK(addSums(spec, composite));
    } catch (const json::exception& error) {
        return base::inputError(error.what(), "spec");
    }
    composite.entries.push_back(entry(StructureKind::MaxPool, lrp::winnerRule()));
    composite.entries.push_back(entry(StructureKind::Normalisation, lrp::passRule()));
    composite.entries.push_back(entry(StructureKind::ShapeMap, lrp::passRule()));
    return composite;
}

} // namespace retro::lrptest
