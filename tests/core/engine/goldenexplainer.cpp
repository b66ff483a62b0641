// SPDX-License-Identifier: Apache-2.0
// golden_explainer: every case of $RETROGRADE_GOLDEN/explainer, else of tests/data/golden/explainer. Each model is
// written as a relevance graph, read back, run in this engine in both precisions and with both ways of max pooling, and
// compared with the stored relevance. Prints one line per failing case; fails when there is none.
#include "core/base/file.h"
#include "core/engine/explain/runforward.h"
#include "core/engine/explainer/relevancegraph.h"
#include "core/formats/onnxexport.h"
#include "core/tensor/npy.h"
#include "tests/goldenfiles.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace fs = std::filesystem;
using namespace retro;
using base::Result;
using nlohmann::json;

namespace
{

double largestDifference(const tensor::Tensor& found, const tensor::Tensor& expected)
{
    if (found.shape() != expected.shape()) {
        return HUGE_VAL;
    }
    double apart = 0;
    double largest = 0;
    for (std::int64_t i = 0; i < expected.size(); ++i) {
        const double one = std::abs(found.at(i) - expected.at(i));
        apart = std::isnan(one) ? HUGE_VAL : std::max(apart, one);
        largest = std::max(largest, std::abs(expected.at(i)));
    }
    return apart / std::max(largest, 1e-300);
}

struct Case
{
    fs::path folder;
    json meta;
};

Result<void> runCase(const Case& one, execute::Precision precision, bool usesTaps)
{
    RETRO_TRY(const engine::LoadedModelPointer model,
              engine::loadModel(one.folder / one.meta.at("model").get<std::string>()));
    engine::ExplainRequest request;
    request.composite = one.meta.at("composite");
    RETRO_TRY(request.start, engine::parseStart(one.meta.at("start")));
    request.precision = precision;
    engine::RelevanceGraphForm form;
    form.usesTaps = usesTaps;
    for (const auto& [name, value] : one.meta.at("relevance").items()) {
        form.values.push_back(name);
    }
    RETRO_TRY(const engine::RelevanceGraph made, engine::relevanceGraph(model, request, form));
    RETRO_TRY(const std::vector<std::byte> bytes, formats::toOnnx(*made.graph, made.metadata));
    RETRO_TRY(const engine::LoadedModelPointer graph,
              engine::parseModel(bytes, "explainer.onnx", {}, rewrite::noRewrites()));
    std::vector<tensor::Tensor> inputs;
    for (const graph::ValueId id : graph->graph()->inputs()) {
        const std::string& name = graph->graph()->value(id).name;
        if (name != made.chooser) {
            RETRO_TRY(tensor::Tensor input,
                      tensor::readNpy(one.folder / one.meta.at("input").at(name).get<std::string>()));
            const bool isDouble = precision == execute::Precision::Double && tensor::isFloating(input.dtype());
            inputs.push_back(input.to(isDouble ? tensor::DType::Float64 : graph->graph()->value(id).dtype));
            continue;
        }
        std::vector<std::int64_t> classes(static_cast<std::size_t>(inputs.front().shape().front()), -1);
        if (one.meta.at("target").is_array()) {
            classes = one.meta.at("target").get<std::vector<std::int64_t>>();
        }
        inputs.push_back(tensor::Tensor::of<std::int64_t>({static_cast<std::int64_t>(classes.size())}, classes));
    }
    RETRO_TRY(const engine::ForwardOutputs outputs, engine::runForward(*graph, inputs, precision));
    const double tolerance =
        one.meta.at("tolerance").at(precision == execute::Precision::Double ? "double" : "float").get<double>();
    for (const auto& [name, value] : one.meta.at("relevance").items()) {
        RETRO_TRY(const tensor::Tensor expected, tensor::readNpy(one.folder / value.at("file").get<std::string>()));
        const auto at = std::ranges::find(outputs.names, "relevance/" + name);
        if (at == outputs.names.end()) {
            return base::inputError(fmt::format("no output relevance/{}", name));
        }
        const double apart =
            largestDifference(outputs.outputs[static_cast<std::size_t>(at - outputs.names.begin())], expected);
        if (!(apart <= tolerance)) {
            return base::inputError(fmt::format("{}: {} above {}", name, apart, tolerance));
        }
    }
    return {};
}

int failuresOf(const fs::path& file)
{
    Case one{file.parent_path(), {}};
    const auto text = base::readTextFile(file, 1 << 20);
    if (!text.ok()) {
        std::printf("FAIL %s: %s\n", file.string().c_str(), text.error().text().c_str());
        return 1;
    }
    int failures = 0;
    for (const auto precision : {execute::Precision::Double, execute::Precision::Float}) {
        for (const bool usesTaps : {false, true}) {
            std::string fault;
            try {
                one.meta = json::parse(*text);
                const Result<void> done = runCase(one, precision, usesTaps);
                fault = done.ok() ? "" : done.error().text();
            } catch (const json::exception& error) {
                fault = error.what();
            }
            if (!fault.empty()) {
                std::printf("FAIL %s (%s, %s): %s\n", one.folder.string().c_str(),
                            precision == execute::Precision::Double ? "double" : "float", usesTaps ? "taps" : "scatter",
                            fault.c_str());
                ++failures;
            }
        }
    }
    return failures;
}

} // namespace

int main()
{
    const fs::path root = tests::goldenFolder("explainer");
    std::vector<fs::path> files;
    std::error_code failed;
    for (const auto& entry : fs::recursive_directory_iterator(root, failed)) {
        if (entry.path().filename() == "meta.json") {
            files.push_back(entry.path());
        }
    }
    std::ranges::sort(files);
    int failures = 0;
    for (const fs::path& file : files) {
        failures += failuresOf(file);
    }
    std::printf("%zu cases, %d failures in %s\n", files.size(), failures, root.string().c_str());
    return files.empty() || failures > 0 ? 1 : 0;
}
