// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/ruleregistry.h"

#include "core/lrp/decomposedrule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

namespace retro::lrp
{

namespace
{

struct RuleDeclaration
{
    std::string_view name;
    RulePointer (*read)(ParameterReader&);
};

constexpr std::array kDeclarations{
    RuleDeclaration{"lrp-0", readLrpZero},
    RuleDeclaration{"epsilon", readEpsilon},
    RuleDeclaration{"z-plus", readZPlus},
    RuleDeclaration{"alpha-beta", readAlphaBeta},
    RuleDeclaration{"gamma", readGamma},
    RuleDeclaration{"z-box", readZBox},
    RuleDeclaration{"flat", readFlat},
    RuleDeclaration{"w-square", readWSquare},
    RuleDeclaration{"gradient", readGradient},
    RuleDeclaration{"secant", readSecant},
    RuleDeclaration{"detached-gradient", readDetachedGradient},
    RuleDeclaration{"pass", readPass},
    RuleDeclaration{"stop", readStop},
    RuleDeclaration{"norm", readNorm},
    RuleDeclaration{"uniform", readUniform},
    RuleDeclaration{"winner-take-all", readWinner},
    RuleDeclaration{"proportional", readProportional},
    RuleDeclaration{"softmax-weighted", readSoftmaxWeighted},
    RuleDeclaration{"deconvnet", readDeconvNet},
    RuleDeclaration{"guided-backprop", readGuidedBackprop},
    RuleDeclaration{"beta-smooth", readBetaSmooth},
    RuleDeclaration{"abs-ratio", readAbsRatio},
    RuleDeclaration{"softmax-taylor", readSoftmaxTaylor},
    RuleDeclaration{"detached-deviation", readDetachedDeviation},
    RuleDeclaration{"signal-take-all", readSignalTakesAll},
    RuleDeclaration{"decomposed", readDecomposed},
    RuleDeclaration{"lut", readLut},
};

} // namespace

std::vector<std::string_view> ruleNames()
{
    std::vector<std::string_view> names;
    for (const RuleDeclaration& declaration : kDeclarations) {
        names.push_back(declaration.name);
    }
    return names;
}

base::Result<RulePointer> makeRule(std::string_view name, const RuleParameters& parameters)
{
    for (const RuleDeclaration& declaration : kDeclarations) {
        if (declaration.name == name) {
            ParameterReader reader(parameters);
            RulePointer rule = declaration.read(reader);
            if (!isDecomposed(*rule)) {
                rule = filteredRule(std::move(rule), readFraction(reader));
            }
            RETRO_CHECK(reader.finish());
            return rule;
        }
    }
    return base::usageError(fmt::format("there is no rule \"{}\"; known are {}", name, fmt::join(ruleNames(), ", ")),
                            "rule");
}

} // namespace retro::lrp
