// SPDX-License-Identifier: Apache-2.0
#include "core/engine/evaluate/attribution.h"

#include "core/base/editdistance.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

namespace retro::engine
{

namespace
{

using base::Result;

struct Declaration
{
    std::string_view name;
    std::string_view takes; ///< what may follow a colon; empty = nothing
    Result<AttributionPointer> (*make)(const AttributionOptions&, const std::string&);
};

/// TreeSHAP by the values that it is made with, as shap names them.
Result<AttributionPointer> treeShapBy(const AttributionOptions& options, const std::string& way)
{
    if (way.empty() || way == "interventional") {
        return treeShap(options.background);
    }
    if (way == "tree_path_dependent") {
        return base::usageError("it needs how many training samples reached each node, and ONNX files do not say that; "
                                "take treeshap, with rows of the training data as --background",
                                "--method treeshap:tree_path_dependent");
    }
    return base::usageError("behind treeshap: stands interventional, or nothing", "--method treeshap:" + way);
}

constexpr std::array kDeclarations{
    Declaration{
        "lrp", "",
        [](const AttributionOptions&, const std::string&) -> Result<AttributionPointer> { return lrpAttribution(); }},
    Declaration{"input_x_gradient", "",
                [](const AttributionOptions&, const std::string&) -> Result<AttributionPointer> {
                    return inputTimesGradient();
                }},
    Declaration{"integrated_gradients", "",
                [](const AttributionOptions& options, const std::string&) -> Result<AttributionPointer> {
                    return integratedGradients(options.integrationSteps);
                }},
    Declaration{"smoothgrad", "",
                [](const AttributionOptions& options, const std::string&) -> Result<AttributionPointer> {
                    return smoothGrad(options.noiseSamples, options.noise, options.seed);
                }},
    Declaration{
        "occlusion", "",
        [](const AttributionOptions&, const std::string&) -> Result<AttributionPointer> { return occlusion(); }},
    Declaration{"shapley", "",
                [](const AttributionOptions& options, const std::string&) -> Result<AttributionPointer> {
                    return shapley(options.permutations, options.seed);
                }},
    Declaration{"treeshap", "interventional", treeShapBy},
    Declaration{"gradcam", "VALUE",
                [](const AttributionOptions&, const std::string& value) -> Result<AttributionPointer> {
                    return gradCam(CamWeights::Mean, value);
                }},
    Declaration{"gradcam++", "VALUE",
                [](const AttributionOptions&, const std::string& value) -> Result<AttributionPointer> {
                    return gradCam(CamWeights::Positive, value);
                }},
};

} // namespace

std::vector<std::string> attributionNames()
{
    std::vector<std::string> names;
    for (const Declaration& declaration : kDeclarations) {
        names.push_back(declaration.takes.empty() ? std::string(declaration.name)
                                                  : fmt::format("{}[:{}]", declaration.name, declaration.takes));
    }
    return names;
}

Result<AttributionPointer> makeAttribution(std::string_view name, const AttributionOptions& options)
{
    const std::size_t colon = name.find(':');
    const std::string_view plain = name.substr(0, colon);
    for (const Declaration& declaration : kDeclarations) {
        const bool fits = !declaration.takes.empty() || colon == std::string_view::npos;
        if (declaration.name == plain && fits) {
            return declaration.make(options,
                                    std::string(colon == std::string_view::npos ? "" : name.substr(colon + 1)));
        }
    }
    return base::usageError(fmt::format("there is no method \"{}\"; known are {}{}", name,
                                        fmt::join(attributionNames(), ", "),
                                        base::guessText(plain, attributionNames())),
                            "--method");
}

} // namespace retro::engine
