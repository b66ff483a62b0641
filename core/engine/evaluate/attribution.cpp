// SPDX-License-Identifier: Apache-2.0
#include "core/engine/evaluate/attribution.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

namespace retro::engine
{

namespace
{

struct Declaration
{
    std::string_view name;
    AttributionPointer (*make)(const AttributionOptions&);
};

constexpr std::array kDeclarations{
    Declaration{"lrp", [](const AttributionOptions&) { return lrpAttribution(); }},
    Declaration{"input_x_gradient", [](const AttributionOptions&) { return inputTimesGradient(); }},
    Declaration{"integrated_gradients",
                [](const AttributionOptions& options) { return integratedGradients(options.integrationSteps); }},
    Declaration{"smoothgrad",
                [](const AttributionOptions& options) {
                    return smoothGrad(options.noiseSamples, options.noise, options.seed);
                }},
    Declaration{"occlusion", [](const AttributionOptions&) { return occlusion(); }},
};

} // namespace

std::vector<std::string_view> attributionNames()
{
    std::vector<std::string_view> names;
    for (const Declaration& declaration : kDeclarations) {
        names.push_back(declaration.name);
    }
    return names;
}

base::Result<AttributionPointer> makeAttribution(std::string_view name, const AttributionOptions& options)
{
    for (const Declaration& declaration : kDeclarations) {
        if (declaration.name == name) {
            return declaration.make(options);
        }
    }
    return base::usageError(
        fmt::format("there is no method \"{}\"; known are {}", name, fmt::join(attributionNames(), ", ")), "--method");
}

} // namespace retro::engine
