// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/rules/ruleparameters.h"

#include "core/base/editdistance.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>

namespace retro::lrp
{

namespace
{

constexpr std::array<std::string_view, 3> kBiasNames{"absorb", "zero", "spread"};
constexpr std::array<std::string_view, 3> kStabiliserNames{"add", "clip", "rms"};

std::string valueText(const RuleParameter& value)
{
    if (const bool* flag = std::get_if<bool>(&value)) {
        return *flag ? "true" : "false";
    }
    if (const double* number = std::get_if<double>(&value)) {
        return fmt::format("{}", *number);
    }
    if (const auto* list = std::get_if<std::vector<double>>(&value)) {
        return fmt::format("[{}]", fmt::join(*list, ", "));
    }
    return fmt::format("\"{}\"", std::get<std::string>(value));
}

/// " (`half`, `full`)", the default first.
std::string choicesOf(std::span<const std::string_view> options, std::size_t fallback)
{
    std::string text = fmt::format(" (`{}`", options[fallback]);
    for (std::size_t i = 0; i < options.size(); ++i) {
        text += i == fallback ? "" : fmt::format(", `{}`", options[i]);
    }
    return text + ")";
}

std::optional<bool> asFlag(const RuleParameter& value)
{
    if (const bool* flag = std::get_if<bool>(&value)) {
        return *flag;
    }
    const double* number = std::get_if<double>(&value);
    if (number != nullptr && (*number == 0 || *number == 1)) {
        return *number == 1;
    }
    return std::nullopt;
}

} // namespace

const RuleParameter* ParameterReader::find(std::string_view name, const std::string& values)
{
    if (m_asked.emplace(name).second) {
        m_descriptions.push_back(fmt::format("`{}`{}", name, values));
    }
    const auto found = m_parameters.find(name);
    return found == m_parameters.end() ? nullptr : &found->second;
}

void ParameterReader::fail(std::string_view name, std::string message)
{
    if (m_status.ok()) {
        m_status = base::usageError(std::move(message), std::string(name));
    }
}

double ParameterReader::number(std::string_view name, double fallback, Range range)
{
    const RuleParameter* value = find(name, fmt::format(" ({})", fallback));
    if (value == nullptr) {
        return fallback;
    }
    const double* number = std::get_if<double>(value);
    if (number == nullptr || !(*number >= range.low && *number <= range.high)) {
        const std::string bounds = range.high == Range{}.high ? fmt::format("of at least {}", range.low)
                                                              : fmt::format("from {} to {}", range.low, range.high);
        fail(name, fmt::format("must be a number {}, not {}", bounds, valueText(*value)));
        return fallback;
    }
    return *number;
}

bool ParameterReader::isWithin(std::string_view name, double number, Range range)
{
    const bool isGood = number >= range.low && number <= range.high;
    if (!isGood) {
        fail(name, fmt::format("must have numbers from {} to {}, not {}", range.low, range.high, number));
    }
    return isGood;
}

std::vector<double> ParameterReader::numbers(std::string_view name, double fallback, Range range)
{
    const RuleParameter* value = find(name, fmt::format(" ({})", fallback));
    const auto* list = value == nullptr ? nullptr : std::get_if<std::vector<double>>(value);
    if (list == nullptr) {
        return {number(name, fallback, range)};
    }
    if (list->empty()) {
        fail(name, "is an empty list; give a number, or one per channel");
        return {fallback};
    }
    const bool isGood = std::all_of(list->begin(), list->end(), [&](double one) { return isWithin(name, one, range); });
    return isGood ? *list : std::vector<double>{fallback};
}

bool ParameterReader::flag(std::string_view name, bool fallback)
{
    const RuleParameter* value = find(name, fmt::format(" ({})", fallback));
    if (value == nullptr) {
        return fallback;
    }
    const std::optional<bool> flag = asFlag(*value);
    if (!flag) {
        fail(name, fmt::format("must be true or false (or 1 or 0), not {}", valueText(*value)));
    }
    return flag.value_or(fallback);
}

std::size_t ParameterReader::choice(std::string_view name, std::span<const std::string_view> options,
                                    std::size_t fallback)
{
    const RuleParameter* value = find(name, choicesOf(options, fallback));
    if (value == nullptr) {
        return fallback;
    }
    const std::string* text = std::get_if<std::string>(value);
    const auto found = text == nullptr ? options.end() : std::find(options.begin(), options.end(), *text);
    if (found == options.end()) {
        fail(name, fmt::format("must be one of {}, not {}", fmt::join(options, ", "), valueText(*value)));
        return fallback;
    }
    return static_cast<std::size_t>(found - options.begin());
}

std::string ParameterReader::text(std::string_view name)
{
    const RuleParameter* value = find(name, "");
    if (value == nullptr) {
        return {};
    }
    if (const std::string* text = std::get_if<std::string>(value); text != nullptr && !text->empty()) {
        return *text;
    }
    if (const double* number = std::get_if<double>(value)) { // values may be called 0, 1, …
        return fmt::format("{}", *number);
    }
    fail(name, fmt::format("must be a name, not {}", valueText(*value)));
    return {};
}

Stabiliser ParameterReader::stabiliser(Stabiliser fallback)
{
    const std::size_t before = m_descriptions.size();
    Stabiliser result;
    result.kind =
        static_cast<StabiliserKind>(choice("stabiliser", kStabiliserNames, static_cast<std::size_t>(fallback.kind)));
    result.epsilon = number("epsilon", fallback.epsilon);
    result.isSigned = flag("signed", fallback.isSigned);
    m_descriptions.resize(before);
    m_descriptions.emplace_back("stabiliser");
    return result;
}

LinearOptions ParameterReader::linearOptions(double epsilon)
{
    const std::size_t before = m_descriptions.size();
    LinearOptions options;
    options.stabiliser = stabiliser({StabiliserKind::Add, epsilon, true});
    options.bias = static_cast<BiasPolicy>(choice("bias", kBiasNames, 0));
    options.biasFactor = number("bias_factor", 1, {0, 1});
    if (options.biasFactor != 1 && options.bias != BiasPolicy::Spread) {
        fail("bias_factor", "goes with bias=spread: it is the part of the bias that is spread");
    }
    m_descriptions.resize(before);
    m_descriptions.emplace_back("linear");
    return options;
}

std::string ParameterReader::described() const { return fmt::format("{}", fmt::join(m_descriptions, ", ")); }

base::Result<void> ParameterReader::finish() const
{
    if (!m_status.ok()) {
        return m_status;
    }
    for (const auto& [name, value] : m_parameters) {
        if (m_asked.count(name) == 0) {
            const std::string known = m_asked.empty() ? std::string("it has no parameters")
                                                      : fmt::format("known are {}", fmt::join(m_asked, ", "));
            return base::usageError("there is no such parameter; " + known + base::guessText(name, m_asked), name);
        }
    }
    return {};
}

RuleParameters toParameters(const Stabiliser& stabiliser)
{
    return {{"stabiliser", std::string(kStabiliserNames[static_cast<std::size_t>(stabiliser.kind)])},
            {"epsilon", stabiliser.epsilon},
            {"signed", stabiliser.isSigned}};
}

RuleParameters toParameters(const LinearOptions& options)
{
    RuleParameters parameters = toParameters(options.stabiliser);
    parameters["bias"] = std::string(kBiasNames[static_cast<std::size_t>(options.bias)]);
    parameters["bias_factor"] = options.biasFactor;
    return parameters;
}

std::string textOf(const Stabiliser& stabiliser)
{
    std::string text = fmt::format("{}", stabiliser.epsilon);
    if (stabiliser.kind != StabiliserKind::Add) {
        text += fmt::format(", {}", kStabiliserNames[static_cast<std::size_t>(stabiliser.kind)]);
    }
    return stabiliser.isSigned ? text : text + ", unsigned";
}

std::string textOf(const LinearOptions& options)
{
    std::string text = textOf(options.stabiliser);
    if (options.bias != BiasPolicy::Absorb) {
        text += fmt::format(", bias {}", kBiasNames[static_cast<std::size_t>(options.bias)]);
    }
    return options.biasFactor == 1 ? text : fmt::format("{} {}", text, options.biasFactor);
}

} // namespace retro::lrp
