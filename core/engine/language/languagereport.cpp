// SPDX-License-Identifier: Apache-2.0
#include "core/engine/language/languagereport.h"

#include "core/base/csvfield.h"
#include "core/base/file.h"
#include "core/base/jsonout.h"
#include "core/base/record.h"
#include "core/base/visibletext.h"
#include "core/tensor/npy.h"
#include "core/text/utf8.h"
#include "core/trace/runstate.h"
#include "core/trace/timeline.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <span>

namespace retro::engine
{

using base::Result;
using nlohmann::ordered_json;
using tensor::Tensor;

namespace
{

constexpr std::size_t kMostLines = 400; // tokens that a terminal shows
constexpr std::size_t kShownOfMany = 40;

double sumOfMagnitudes(std::span<const double> numbers)
{
    return std::accumulate(numbers.begin(), numbers.end(), 0.0,
                           [](double sum, double one) { return sum + std::abs(one); });
}

double meanOf(const std::vector<ScoredToken>& tokens)
{
    double sum = 0;
    for (const ScoredToken& token : tokens) {
        sum += token.score / static_cast<double>(tokens.size());
    }
    return sum;
}

/// Full above 0, hatched below.
std::string barOf(double share)
{
    constexpr std::array<std::string_view, 8> kParts{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    constexpr double kCells = 5;
    const double length = std::min(std::max(0.0, std::abs(share)), 1.0); // NaN: 0
    const auto eighths = static_cast<std::size_t>(std::lround(length * kCells * 8));
    const bool isBelow = share < 0;
    std::string text;
    for (std::size_t i = 0; i < (isBelow ? (eighths + 4) / 8 : eighths / 8); ++i) {
        text += isBelow ? "░" : "█";
    }
    return isBelow ? text : text + std::string(kParts[eighths % 8]);
}

std::string paddedTo(std::string text, std::size_t width)
{
    const std::size_t length = text::characterCount(text);
    return length < width ? text + std::string(width - length, ' ') : text;
}

/// A token as the table shows it: in quotes where it begins or ends with a space.
std::string shownToken(const std::string& token)
{
    const std::string line = lineText(token);
    return line.starts_with(' ') || line.ends_with(' ') ? fmt::format("\"{}\"", line) : line;
}

std::vector<std::size_t> shownTokens(const LanguageReport& report)
{
    std::vector<std::size_t> shown(report.shown());
    std::iota(shown.begin(), shown.end(), std::size_t{0});
    if (shown.size() > kMostLines) {
        std::ranges::stable_sort(shown, [&](std::size_t a, std::size_t b) {
            return std::abs(report.relevance[a]) > std::abs(report.relevance[b]);
        });
        shown.resize(kShownOfMany);
        std::ranges::sort(shown);
    }
    return shown;
}

/// "3 capital": the token with the most relevance.
std::string largestOf(const LanguageReport& report, const std::vector<double>& relevance,
                      const std::vector<LanguageToken>& tokens)
{
    const auto largest = std::ranges::max_element(relevance, {}, [](double r) { return std::abs(r); });
    const auto at = static_cast<std::size_t>(largest - relevance.begin());
    return fmt::format("{}{} {}", at < report.source ? "encoder " : "", report.placeOf(at),
                       relevance.empty() ? "" : shownToken(tokens[at].text));
}

std::string targetLine(const LanguageReport& report)
{
    if (report.position < 0) {
        return fmt::format("target       {}, score {:.6g}", report.otherTarget, report.score);
    }
    std::string line = "target       " + againstText(report.target, report.contrast);
    line += fmt::format(" at position {} of {}, score ", report.position, report.tokens.size() - report.source);
    line += report.contrast.empty()
                ? fmt::format("{:.6g}", report.score)
                : fmt::format("{:.6g} - {:.6g} = {:.6g}", report.target.score, meanOf(report.contrast), report.score);
    return line + fmt::format("; best {} {}", report.scored, report.best.quoted());
}

/// The name of the input that a token stands in.
std::string inputOf(const LanguageReport& report, std::size_t token)
{
    const std::size_t at = token < report.source ? 0 : 1;
    return at < report.inputs.size() ? report.inputs[at] : std::string();
}

/// "3 capital"; of a text that an encoder reads "encoder 3 capital".
std::string columnOf(const LanguageReport& report, std::size_t token, const std::string& text)
{
    return base::csvField(
        fmt::format("{}{} {}", token < report.source ? "encoder " : "", report.placeOf(token), lineText(text)));
}

ordered_json tokenJson(const ScoredToken& token)
{
    return base::objectOf({{"id", token.id}, {"score", token.score}, {"text", base::ifAny(token.text)}});
}

ordered_json tokensJson(const std::vector<ScoredToken>& tokens)
{
    return base::listOf(tokens, [](const ScoredToken& token) { return tokenJson(token); });
}

ordered_json numberOrNull(double number)
{
    return std::isfinite(number) ? ordered_json(number) : ordered_json(nullptr);
}

ordered_json rowsJson(const Tensor& matrix)
{
    ordered_json rows = ordered_json::array();
    const std::int64_t columns = matrix.shape().back();
    for (std::int64_t i = 0; i < matrix.size(); i += columns) {
        ordered_json row = ordered_json::array();
        for (std::int64_t k = 0; k < columns; ++k) {
            row.push_back(numberOrNull(matrix.at(i + k)));
        }
        rows.push_back(std::move(row));
    }
    return rows;
}

/// Layers of tokens of heads.
ordered_json headsJson(const Tensor& heads)
{
    ordered_json layers = ordered_json::array();
    const tensor::Shape& shape = heads.shape();
    const Tensor plain = heads.contiguous();
    const auto* from = plain.data<double>();
    for (std::int64_t layer = 0; layer < shape[0]; ++layer) {
        ordered_json rows = ordered_json::array();
        for (std::int64_t token = 0; token < shape[1]; ++token) {
            ordered_json row = ordered_json::array();
            for (std::int64_t head = 0; head < shape[2]; ++head) {
                row.push_back(numberOrNull(*from++));
            }
            rows.push_back(std::move(row));
        }
        layers.push_back(std::move(rows));
    }
    return layers;
}

/// [layer, head, query, key, relevance] each.
ordered_json linksJson(const std::vector<trace::TextLink>& links)
{
    return base::listOf(links, [&](const trace::TextLink& link) -> ordered_json {
        return {link.layer, link.head, link.query, link.key, numberOrNull(link.relevance)};
    });
}

void addParts(const LayerParts& parts, ordered_json& json)
{
    base::add(json, {{"layers", parts.layers.isValid() ? rowsJson(parts.layers) : base::kLeftOut},
                     {"heads", parts.heads.isValid() ? headsJson(parts.heads) : base::kLeftOut},
                     {"links", base::ifAny(linksJson(parts.links))}});
}

ordered_json positionJson(const PositionAnswer& answer)
{
    ordered_json json =
        base::objectOf({{"position", answer.position},
                        {"target", tokenJson(answer.token)},
                        {"best", tokenJson(answer.best)},
                        {"contrast", base::ifAny(tokensJson(answer.contrast))},
                        {"score", answer.score},
                        {"started", answer.started},
                        {"reached", std::accumulate(answer.relevance.begin(), answer.relevance.end(), 0.0)},
                        {"losses", answer.losses},
                        {"relevance", base::listOf(answer.relevance, numberOrNull)}});
    addParts(answer.parts, json);
    return json;
}

Result<void> writeMaps(const std::filesystem::path& folder, const LayerParts& parts)
{
    if (parts.maps.empty()) {
        return {};
    }
    RETRO_CHECK(base::makeFolder(folder));
    for (const auto& [layer, map] : parts.maps) {
        RETRO_CHECK(tensor::writeNpy(folder / fmt::format("{}.npy", layer), map));
    }
    return {};
}

/// layers.npy, layers.csv and heads.npy of the question; of a step or position with its number behind the name.
Result<void> writeParts(const std::filesystem::path& folder, const LayerParts& parts, const std::string& ending,
                        const std::string& csv)
{
    if (parts.layers.isValid()) {
        RETRO_CHECK(tensor::writeNpy(folder / fmt::format("layers{}.npy", ending), parts.layers));
        RETRO_CHECK(base::writeFile(folder / fmt::format("layers{}.csv", ending), csv));
    }
    if (parts.heads.isValid()) {
        RETRO_CHECK(tensor::writeNpy(folder / fmt::format("heads{}.npy", ending), parts.heads));
    }
    return writeMaps(folder / fmt::format("attention{}", ending), parts);
}

std::string layersCsv(const Tensor& layers, std::span<const LanguageToken> tokens)
{
    std::string csv = "layer";
    const std::int64_t count = layers.isValid() ? layers.shape()[1] : 0;
    for (std::int64_t i = 0; i < count; ++i) {
        const bool isKnown = std::cmp_less(i, tokens.size());
        csv += "," + base::csvField(fmt::format(
                         "{} {}", i, isKnown ? lineText(tokens[static_cast<std::size_t>(i)].text) : std::string()));
    }
    for (std::int64_t i = 0; count > 0 && i < layers.size(); ++i) {
        csv += i % count == 0 ? fmt::format("\r\n{}", i / count) : std::string();
        csv += fmt::format(",{}", layers.at(i));
    }
    return csv + "\r\n";
}

/// Tokens of the text and those that it went on with, without those that an encoder reads.
std::vector<LanguageToken> allTokens(const LanguageReport& report)
{
    std::vector<LanguageToken> all(report.tokens.begin() + static_cast<std::ptrdiff_t>(report.source),
                                   report.tokens.end());
    all.insert(all.end(), report.generatedTokens.begin(), report.generatedTokens.end());
    return all;
}

/// Tokens that some step of a generation has before it: those of the text, and all that it went on with but the last.
std::vector<LanguageToken> tokensBeforeSteps(const LanguageReport& report)
{
    std::vector<LanguageToken> all = report.tokens;
    if (!report.generatedTokens.empty()) {
        all.insert(all.end(), report.generatedTokens.begin(), std::prev(report.generatedTokens.end()));
    }
    return all;
}

/// A line per step or position: `fields`, and behind them the relevance of each token.
template <class Step>
std::string relevanceCsv(const LanguageReport& report, base::Fields<Step> fields, const std::vector<Step>& steps,
                         const std::vector<LanguageToken>& tokens)
{
    std::vector<std::string> columns;
    columns.reserve(tokens.size()); // fields only see them
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        columns.push_back(columnOf(report, i, tokens[i].text));
        fields.emplace_back(columns.back(), [i](const Step& step) {
            return i < step.relevance.size() ? ordered_json(step.relevance[i]) : base::kLeftOut;
        });
    }
    return fields.csv(steps, "\r\n");
}

std::string generationCsv(const LanguageReport& report)
{
    using Step = GeneratedStep;
    return relevanceCsv<Step>(report,
                              {{"step", [&](const Step& step) { return &step - report.generated.data(); }},
                               {"position", &Step::position},
                               {"id", [](const Step& step) { return step.token.id; }},
                               {"text", [](const Step& step) { return step.token.text; }},
                               {"score", [](const Step& step) { return step.token.score; }}},
                              report.generated, tokensBeforeSteps(report));
}

std::string positionsCsv(const LanguageReport& report)
{
    using Answer = PositionAnswer;
    return relevanceCsv<Answer>(report,
                                {{"position", &Answer::position},
                                 {"id", [](const Answer& answer) { return answer.token.id; }},
                                 {"text", [](const Answer& answer) { return answer.token.text; }},
                                 {"score", &Answer::score}},
                                report.positions, report.tokens);
}

/// Positions × tokens.
Tensor positionsMatrix(const LanguageReport& report)
{
    tensor::TensorBuffer buffer(tensor::DType::Float64, {std::ssize(report.positions), std::ssize(report.tokens)});
    auto out = buffer.span<double>().begin();
    for (const PositionAnswer& answer : report.positions) {
        out = std::ranges::copy(answer.relevance, out).out;
    }
    return std::move(buffer).freeze();
}

/// Steps × tokens before the last step, NaN behind the tokens of a step.
Tensor generationMatrix(const LanguageReport& report)
{
    const std::size_t width = tokensBeforeSteps(report).size();
    tensor::TensorBuffer buffer(tensor::DType::Float64,
                                {std::ssize(report.generated), static_cast<std::int64_t>(width)});
    const std::span<double> out = buffer.span<double>();
    std::ranges::fill(out, std::numeric_limits<double>::quiet_NaN());
    for (std::size_t i = 0; i < report.generated.size(); ++i) {
        const std::vector<double>& row = report.generated[i].relevance;
        std::copy_n(row.begin(), std::min(row.size(), width), out.begin() + static_cast<std::ptrdiff_t>(i * width));
    }
    return std::move(buffer).freeze();
}

/// What started, and where it went; what the sums of the ledger leave in their last places is left out.
std::string relevanceLine(const LanguageReport& report)
{
    constexpr double kLastPlaces = 1e-12; // of what started
    std::string where;
    for (const auto& [cause, amount] : report.losses) {
        if (std::abs(amount) > kLastPlaces * std::abs(report.started)) {
            where += fmt::format("{}{} {:+.6g}", where.empty() ? " (" : ", ", cause, 0.0 - amount);
        }
    }
    return fmt::format("relevance    {:.6g} started, {:.6g} reached the tokens{}{}", report.started, report.reached,
                       where, where.empty() ? "" : ")");
}

/// One token each: place, text, relevance, bar.
std::vector<std::string> tokenCells(const LanguageReport& report, std::span<const std::size_t> shown)
{
    double most = 0;
    std::size_t widest = 0;
    std::vector<std::string> cells;
    for (const std::size_t i : shown) {
        most = std::max(most, std::abs(report.relevance[i]));
        widest = std::max(widest, text::characterCount(shownToken(report.tokens[i].text)));
    }
    const std::size_t digits = std::to_string(report.tokens.size()).size();
    for (const std::size_t i : shown) {
        const double part = report.relevance[i];
        cells.push_back(fmt::format("  {:>{}} {}  {:+.4g}", report.placeOf(i), digits,
                                    paddedTo(shownToken(report.tokens[i].text), std::min<std::size_t>(widest, 32)),
                                    part));
        cells.back() = paddedTo(cells.back(), digits + std::min<std::size_t>(widest, 32) + 16) +
                       paddedTo(barOf(most > 0 ? part / most : 0), 6);
    }
    return cells;
}

std::vector<std::size_t> tokenPlaces(const LanguageReport& report)
{
    std::vector<std::size_t> places(report.tokens.size());
    std::iota(places.begin(), places.end(), std::size_t{0});
    return places;
}

/// What is said of a token, by its place in the report.
base::Fields<std::size_t> tokenFields(const LanguageReport& report)
{
    const auto placeOf = [&report](std::uint32_t text::Range::*end) {
        return [&report, end](std::size_t i) {
            const std::optional<text::Range>& place = report.tokens[i].place;
            return place ? ordered_json((*place).*end) : ordered_json();
        };
    };
    base::Fields<std::size_t> fields{{"position", [&](std::size_t i) { return report.placeOf(i); }},
                                     {"id", [&](std::size_t i) { return report.tokens[i].id; }},
                                     {"text", [&](std::size_t i) { return report.tokens[i].text; }},
                                     {"start", placeOf(&text::Range::begin)},
                                     {"end", placeOf(&text::Range::end)},
                                     {"relevance", [&](std::size_t i) { return report.relevance[i]; }},
                                     {"share", [shares = report.shares()](std::size_t i) { return shares[i]; }}};
    if (report.source > 0) {
        fields.emplace_back("input", [&](std::size_t i) { return inputOf(report, i); });
    }
    return fields;
}

/// The cells in two columns.
void addCells(const LanguageReport& report, std::span<const std::size_t> shown, std::vector<std::string>& lines)
{
    const std::vector<std::string> cells = tokenCells(report, shown);
    const std::size_t half = (cells.size() + 1) / 2;
    for (std::size_t i = 0; i < half; ++i) {
        std::string line = cells[i] + (i + half < cells.size() ? "  " + cells[i + half] : "");
        line.resize(line.find_last_not_of(' ') + 1);
        lines.push_back(std::move(line));
    }
}

} // namespace

std::string ScoredToken::quoted() const
{
    return text.empty() ? std::to_string(id) : fmt::format("\"{}\" ({})", base::visibleText(text), id);
}

std::string againstText(const ScoredToken& target, const std::vector<ScoredToken>& contrast)
{
    std::string text = target.quoted();
    for (std::size_t i = 0; i < contrast.size(); ++i) {
        text += (i == 0 ? " instead of " : ", ") + contrast[i].quoted();
    }
    return text;
}

std::vector<double> LanguageReport::shares() const
{
    const double all = sumOfMagnitudes(relevance);
    std::vector<double> made;
    for (const double part : relevance) {
        made.push_back(all > 0 ? part / all : 0);
    }
    return made;
}

std::vector<std::string> reportLines(const LanguageReport& report)
{
    std::vector<std::string> lines{targetLine(report), relevanceLine(report)};
    const std::vector<std::size_t> shown = shownTokens(report);
    const auto own = std::ranges::lower_bound(shown, report.source); // behind those that an encoder reads
    if (report.source > 0) {
        lines.push_back(fmt::format("{}, read by the encoder:", inputOf(report, 0)));
        addCells(report, {shown.begin(), own}, lines);
        lines.push_back(inputOf(report, report.source) + ":");
    }
    addCells(report, {own, shown.end()}, lines);
    if (shown.size() < report.shown()) {
        lines.push_back(
            fmt::format("  … the {} largest of {} tokens; tokens.csv has all", shown.size(), report.shown()));
    }
    if (report.padding > 0) {
        const double sum = std::accumulate(report.relevance.begin() + std::ssize(report.relevance) -
                                               static_cast<std::ptrdiff_t>(report.padding),
                                           report.relevance.end(), 0.0);
        lines.push_back(fmt::format("  … and {} tokens of padding, with {:.4g} in all", report.padding, sum));
    }
    const std::vector<LanguageToken> all = tokensBeforeSteps(report);
    for (std::size_t i = 0; i < report.generated.size(); ++i) {
        const GeneratedStep& step = report.generated[i];
        lines.push_back(fmt::format("step {:<7} {}, score {:.6g}; most from {}", i, step.token.quoted(),
                                    step.token.score, largestOf(report, step.relevance, all)));
    }
    for (const PositionAnswer& answer : report.positions) {
        lines.push_back(fmt::format("position {:<3} {}, score {:.6g}; most from {}", answer.position,
                                    againstText(answer.token, answer.contrast), answer.score,
                                    largestOf(report, answer.relevance, all)));
    }
    return lines;
}

ordered_json reportJson(const LanguageReport& report)
{
    ordered_json question{{"composite", report.composite}, {"target", report.otherTarget}};
    if (report.position >= 0) {
        question = base::objectOf({{"composite", report.composite},
                                   {"position", report.position},
                                   {"target", tokenJson(report.target)},
                                   {"best", tokenJson(report.best)},
                                   {"contrast", base::ifAny(tokensJson(report.contrast))}});
    }
    ordered_json json{{"model", report.model},     {"text", report.text},
                      {"question", question},      {"score", report.score},
                      {"started", report.started}, {"reached", report.reached},
                      {"losses", report.losses},   {"tokens", tokenFields(report).list(tokenPlaces(report))}};
    addParts(report, json);
    for (const GeneratedStep& step : report.generated) {
        ordered_json one = tokenJson(step.token);
        one["position"] = step.position;
        one["relevance"] = step.relevance;
        addParts(step.parts, one);
        json["generated"].push_back(std::move(one));
    }
    for (const PositionAnswer& answer : report.positions) {
        json["positions"].push_back(positionJson(answer));
    }
    base::add(json, {{"note", base::ifAny(report.note)}});
    return json;
}

std::string tokensCsv(const LanguageReport& report) { return tokenFields(report).csv(tokenPlaces(report), "\r\n"); }

std::string linksCsv(const LanguageReport& report)
{
    std::string csv = "step,layer,head,query,query_text,key,key_text,relevance\r\n";
    const std::vector<LanguageToken> all = allTokens(report);
    const auto add = [&](const std::string& step, const std::vector<trace::TextLink>& links) {
        for (const trace::TextLink& link : links) {
            csv += fmt::format("{},{},{},{},{},{},{},{}\r\n", step, link.layer, link.head, link.query,
                               base::csvField(all[static_cast<std::size_t>(link.query)].text), link.key,
                               base::csvField(all[static_cast<std::size_t>(link.key)].text), link.relevance);
        }
    };
    add("", report.links);
    for (std::size_t i = 0; i < report.generated.size(); ++i) {
        add(std::to_string(i), report.generated[i].parts.links);
    }
    for (std::size_t i = 0; i < report.positions.size(); ++i) {
        add(std::to_string(i), report.positions[i].parts.links);
    }
    return csv;
}

Result<void> writeReport(const std::filesystem::path& folder, const LanguageReport& report)
{
    RETRO_CHECK(base::writeFile(folder / "tokens.csv", tokensCsv(report)));
    RETRO_CHECK(base::writeFile(folder / "tokens.json", base::jsonOut(reportJson(report), 1) + "\n"));
    const std::vector<LanguageToken> all = allTokens(report);
    RETRO_CHECK(writeParts(folder, report, "", layersCsv(report.layers, all)));
    for (std::size_t i = 0; i < report.generated.size(); ++i) {
        const LayerParts& parts = report.generated[i].parts;
        RETRO_CHECK(writeParts(folder, parts, fmt::format("_step{}", i), layersCsv(parts.layers, all)));
    }
    for (const PositionAnswer& answer : report.positions) {
        RETRO_CHECK(writeParts(folder, answer.parts, fmt::format("_position{}", answer.position),
                               layersCsv(answer.parts.layers, all)));
    }
    const auto hasLinks = [](const GeneratedStep& step) { return !step.parts.links.empty(); };
    if (!report.links.empty() || std::ranges::any_of(report.generated, hasLinks) ||
        std::ranges::any_of(report.positions, hasLinks)) {
        RETRO_CHECK(base::writeFile(folder / "links.csv", linksCsv(report)));
    }
    if (!report.generated.empty()) {
        RETRO_CHECK(base::writeFile(folder / "generation.csv", generationCsv(report)));
        RETRO_CHECK(tensor::writeNpy(folder / "generation.npy", generationMatrix(report)));
    }
    if (!report.positions.empty()) {
        RETRO_CHECK(base::writeFile(folder / "positions.csv", positionsCsv(report)));
        RETRO_CHECK(tensor::writeNpy(folder / "positions.npy", positionsMatrix(report)));
    }
    return {};
}

} // namespace retro::engine
