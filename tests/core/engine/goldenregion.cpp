// SPDX-License-Identifier: Apache-2.0
// Regions and conditional relevance against stored vectors, in both precisions. Reads every case of
// $RETROGRADE_GOLDEN/region, else of tests/data/golden/region; prints one line per failing case; fails when there is
// none.
#include "core/base/file.h"
#include "core/engine/explain/explain.h"
#include "core/ops/algebra.h"
#include "core/tensor/npy.h"
#include "tests/goldenfiles.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>

namespace retro::engine
{

namespace
{

namespace algebra = ops::algebra;
namespace fs = std::filesystem;
using base::Result;
using execute::Precision;
using nlohmann::json;
using tensor::Tensor;

constexpr std::uint64_t kMostJsonBytes = 64ULL << 20;

struct RegionCase
{
    std::string name;
    fs::path folder;
    json meta;
};

/// How far float32 may be from double at worst, of the largest element: where sums are near zero, their quotients have
/// few digits.
constexpr double kMostFloat = 1e-2;

/// Failures of one case in one precision, as words. In float a comparison is as narrow as the case says, or four times
/// as wide as float is from double there: `own` keeps what double gave, by what it is of.
class Comparison
{
public:
    Comparison(const RegionCase& one, Precision precision, std::map<std::string, Tensor>& own)
        : m_case(one), m_precision(precision), m_own(own),
          m_tolerance(one.meta.at("tolerance").at(precision == Precision::Double ? "double" : "float").get<double>())
    {}

    void number(const std::string& what, double is, double expected, double scale)
    {
        const Tensor kept = Tensor::of<double>({1}, std::vector<double>{is});
        const double apart = std::abs(is - expected);
        if (!(apart <= toleranceOf(what, kept, scale) * std::max(scale, 1e-300))) {
            fail(fmt::format("{} is {}, not {}", what, is, expected));
        }
    }

    void tensor(const std::string& what, const Tensor& is, const std::string& file)
    {
        auto read = tensor::readNpy(m_case.folder / file);
        if (!read) {
            fail(read.error().text());
            return;
        }
        const Tensor& expected = read.value();
        if (!is.isValid() && algebra::sumAbsolute(expected) == 0) {
            return;
        }
        if (!is.isValid() || is.shape() != expected.shape()) {
            fail(what + " is missing or of another shape");
            return;
        }
        double largest = 0;
        for (std::int64_t i = 0; i < expected.size(); ++i) {
            largest = std::max(largest, std::abs(expected.at(i)));
        }
        const double apart = distance(is, expected);
        if (!(apart <= toleranceOf(what, is, largest) * std::max(largest, 1e-300))) {
            fail(fmt::format("{} is {} apart of {}", what, apart, largest));
        }
    }

    void fail(const std::string& what)
    {
        std::printf("FAIL %s (%s): %s\n", m_case.name.c_str(), m_precision == Precision::Double ? "double" : "float",
                    what.c_str());
        ++m_failures;
    }

    [[nodiscard]] int failures() const { return m_failures; }

private:
    static double distance(const Tensor& a, const Tensor& b)
    {
        double apart = 0;
        for (std::int64_t i = 0; i < a.size(); ++i) {
            apart = std::max(apart, std::abs(a.at(i) - b.at(i)));
        }
        return apart;
    }

    double toleranceOf(const std::string& what, const Tensor& is, double scale)
    {
        if (m_precision == Precision::Double) {
            m_own[what] = is;
            return m_tolerance;
        }
        const auto own = m_own.find(what);
        const double apart = own == m_own.end() ? 0 : distance(is, own->second) / std::max(scale, 1e-300);
        return std::clamp(4 * apart, m_tolerance, kMostFloat);
    }

    const RegionCase& m_case;
    Precision m_precision;
    std::map<std::string, Tensor>& m_own;
    double m_tolerance;
    int m_failures = 0;
};

Result<ExplainRequest> requestOf(const RegionCase& one, const LoadedModel& model, Precision precision)
{
    ExplainRequest request;
    for (const base::ValueId input : model.graph()->inputs()) {
        const std::string& name = model.graph()->value(input).name;
        RETRO_TRY(const Tensor read, tensor::readNpy(one.folder / one.meta.at("input").at(name).get<std::string>()));
        const bool isFloating = tensor::isFloating(model.graph()->value(input).dtype);
        request.inputs.push_back(isFloating ? read.to(execute::dtypeOf(precision))
                                            : read.to(model.graph()->value(input).dtype));
    }
    request.composite = one.meta.at("composite").get<std::string>();
    RETRO_TRY(request.target, parseTarget(one.meta.at("target").get<std::string>()));
    RETRO_TRY(request.start, parseStart(one.meta.at("start").get<std::string>()));
    request.precision = precision;
    return request;
}

RegionRequest regionOf(const RegionCase& one)
{
    RegionRequest region;
    for (const auto& [input, file] : one.meta.at("mask").items()) {
        region.masks.push_back(fmt::format("{}={}", input, (one.folder / file.get<std::string>()).string()));
    }
    region.arrives = true;
    return region;
}

void compareWeights(const RegionCase& one, const ExplainResult& result, Comparison& comparison)
{
    const graph::Graph& graph = result.model->graph();
    for (const auto& [name, expected] : one.meta.at("weights").items()) {
        const auto value = graph.findValue(name);
        if (!value) {
            continue; // inside what a rewrite has fused
        }
        const Tensor& w = result.region->weights[value->index()];
        const Tensor& relevance = result.relevance[value->index()];
        if (!w.isValid() || !relevance.isValid()) {
            comparison.fail(name + " has no weights or no relevance");
            continue;
        }
        const Tensor share = algebra::multiply(relevance, w);
        comparison.number("R·w of " + name, algebra::sum(share), expected.at("total").get<double>(),
                          algebra::sumAbsolute(share));
        comparison.number("R of " + name, algebra::sum(relevance), expected.at("relevance").get<double>(),
                          algebra::sumAbsolute(relevance));
        comparison.number("w of " + name, algebra::sum(w), expected.at("weight_sum").get<double>(),
                          algebra::sumAbsolute(w));
        if (expected.contains("file")) {
            comparison.tensor("w of " + name, w, expected.at("file").get<std::string>());
        }
    }
}

double magnitudeOfInputs(const ExplainResult& result)
{
    double sum = 0;
    for (const base::ValueId input : result.model->graph().inputs()) {
        const Tensor& relevance = result.relevance[input.index()];
        sum += relevance.isValid() ? algebra::sumAbsolute(relevance) : 0;
    }
    return sum;
}

Result<void> compareCondition(const RegionCase& one, const LoadedModel& model, ExplainRequest request,
                              ConditionForm form, Comparison& comparison)
{
    const json& expected = one.meta.at("conditional");
    std::string places;
    for (const auto& index : expected.at("indices")) {
        places += fmt::format("{}{}", places.empty() ? "" : ",", index.get<int>());
    }
    request.conditions = {
        fmt::format("{}:axis={}:{}", expected.at("value").get<std::string>(), expected.at("axis").get<int>(), places)};
    request.conditionForm = form;
    request.region = regionOf(one);
    const bool isOnly = form == ConditionForm::Only;
    const json& map = expected.at(isOnly ? "only" : "beside");
    RETRO_TRY(const ExplainResult result, explain(model, request));
    const base::ValueId input = result.model->graph().inputs()[0];
    comparison.tensor(isOnly ? "map of only" : "map of beside", result.relevance[input.index()],
                      map.at("file").get<std::string>());
    const double magnitude = magnitudeOfInputs(result);
    comparison.number(isOnly ? "sum of only" : "sum of beside", result.relevanceInputs, map.at("sum").get<double>(),
                      magnitude);
    if (isOnly) {
        comparison.number("region of the map", result.region->total, expected.at("region").get<double>(), magnitude);
    }
    return {};
}

Result<int> failuresIn(const RegionCase& one, Precision precision, std::map<std::string, Tensor>& own)
{
    Comparison comparison(one, precision, own);
    RETRO_TRY(const LoadedModelPointer model, loadModel(one.folder / one.meta.at("model").get<std::string>()));
    RETRO_TRY(ExplainRequest request, requestOf(one, *model, precision));
    ExplainRequest asked = request;
    asked.region = regionOf(one);
    RETRO_TRY(const ExplainResult result, explain(*model, asked));
    comparison.number("region", result.region->total, one.meta.at("region").get<double>(), magnitudeOfInputs(result));
    comparison.number("arrived", result.relevanceInputs, one.meta.at("arrived").get<double>(),
                      magnitudeOfInputs(result));
    compareWeights(one, result, comparison);
    if (one.meta.contains("conditional")) {
        const auto value = result.model->graph().findValue(one.meta.at("conditional").at("value").get<std::string>());
        if (value) {
            RETRO_CHECK(compareCondition(one, *model, request, ConditionForm::Only, comparison));
            RETRO_CHECK(compareCondition(one, *model, request, ConditionForm::Beside, comparison));
        }
    }
    return comparison.failures();
}

int run()
{
    const fs::path root = tests::goldenFolder("region");
    std::vector<fs::path> files;
    std::error_code failed;
    for (fs::recursive_directory_iterator at(root, failed), end; !failed && at != end; at.increment(failed)) {
        if (at->path().filename() == "meta.json") {
            files.push_back(at->path());
        }
    }
    std::ranges::sort(files);
    int failures = files.empty() ? 1 : 0;
    if (files.empty()) {
        std::printf("FAIL no case in %s; set RETROGRADE_GOLDEN to the folder that holds region/\n", root.c_str());
    }
    for (const fs::path& file : files) {
        RegionCase one{file.parent_path().lexically_relative(root).string(), file.parent_path(), {}};
        const auto text = base::readTextFile(file, kMostJsonBytes);
        one.meta = text ? json::parse(text.value(), nullptr, false) : json();
        std::map<std::string, Tensor> own;
        for (const Precision precision : {Precision::Double, Precision::Float}) {
            const Result<int> found = failuresIn(one, precision, own);
            failures += found ? found.value() : 1;
            if (!found) {
                std::printf("FAIL %s: %s\n", one.name.c_str(), found.error().text().c_str());
            }
        }
    }
    std::printf("%zu cases, %d failures\n", files.size(), failures);
    return failures == 0 ? 0 : 1;
}

} // namespace

} // namespace retro::engine

int main() { return retro::engine::run(); }
