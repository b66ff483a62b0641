// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/cases.h"

#include "core/engine/explain/runforward.h"
#include "core/engine/input/inputs.h"
#include "core/engine/model/precision.h"
#include "core/formats/onnx.h"
#include "core/tensor/npy.h"
#include "core/tensor/tensor.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>

namespace retro::conformance
{

namespace fs = std::filesystem;
using base::Error;
using base::ErrorCode;
using base::Result;
using tensor::DType;
using tensor::Tensor;

namespace
{

/// |actual − expected| ≤ absolute + relative · |expected|.
struct Tolerance
{
    double relative = 1e-3;
    double absolute = 1e-5;
};

bool isHalf(DType dtype) { return dtype == DType::Float16 || dtype == DType::BFloat16; }

bool isClose(double actual, double expected, Tolerance tolerance)
{
    if (std::isnan(expected) || std::isinf(expected)) {
        return std::isnan(expected) ? std::isnan(actual) : actual == expected;
    }
    return std::abs(actual - expected) <= tolerance.absolute + tolerance.relative * std::abs(expected);
}

std::string firstDifference(const Tensor& actual, const Tensor& expected, Tolerance tolerance)
{
    std::int64_t wrong = 0;
    std::string first;
    for (std::int64_t i = 0; i < expected.size(); ++i) {
        if (!isClose(actual.at(i), expected.at(i), tolerance)) {
            first = wrong++ > 0 ? first : fmt::format("element {} is {}, not {}", i, actual.at(i), expected.at(i));
        }
    }
    return wrong == 0 ? first : fmt::format("{} of {} elements differ; {}", wrong, expected.size(), first);
}

/// What ONNX's own runner grants, wider where a case computes in 16 bits or was published with few digits.
Tolerance toleranceOf(const std::string& caseName, DType expected)
{
    if (caseName.starts_with("mnist_cntk")) {
        return {1e-3, 1e-2}; // logits in the thousands, published with few digits
    }
    if (caseName.find("/case_") != std::string::npos) {
        return {1e-3, 1e-4};
    }
    if (isHalf(expected)) {
        const bool isAttention = caseName.find("attention") != std::string::npos;
        return isAttention ? Tolerance{2e-2, 2e-3} : Tolerance{1e-2, 1e-3};
    }
    return {};
}

/// Empty when equal: shape, element type, every element; NaN equals NaN. Integers must agree exactly. Else what
/// differs, with the first place.
std::string compare(const Tensor& actual, const Tensor& expected, Tolerance tolerance)
{
    if (!actual.isValid()) {
        return "it was not computed";
    }
    if (actual.shape() != expected.shape()) {
        return fmt::format("the shape is [{}], not [{}]", tensor::toText(actual.shape()),
                           tensor::toText(expected.shape()));
    }
    if (actual.dtype() != expected.dtype()) {
        return fmt::format("the type is {}, not {}", tensor::nameOf(actual.dtype()), tensor::nameOf(expected.dtype()));
    }
    return firstDifference(actual, expected, tensor::isFloating(expected.dtype()) ? tolerance : Tolerance{0, 0});
}

/// Which model of the folder a data folder belongs to: case_fp32_… to model_fp32.onnx, else model.onnx.
fs::path modelOf(const fs::path& data)
{
    const fs::path folder = data.parent_path();
    for (const auto& entry : fs::directory_iterator(folder)) {
        const std::string stem = entry.path().stem().string();
        if (entry.path().extension() == ".onnx" && stem.starts_with("model_") &&
            data.filename().string().starts_with("case_" + stem.substr(6) + "_")) {
            return entry.path();
        }
    }
    return folder / "model.onnx";
}

bool isData(const fs::path& folder)
{
    const std::string name = folder.filename().string();
    return name.starts_with("test_data_set_") || (name.starts_with("case_") && fs::exists(folder / "names.json"));
}

/// Files kind_0, kind_1 … of a data folder, in order.
std::vector<fs::path> filesOf(const fs::path& data, const std::string& kind)
{
    std::vector<fs::path> files;
    for (;;) {
        const std::string stem = fmt::format("{}_{}", kind, files.size());
        const fs::path proto = data / (stem + ".pb");
        const fs::path array = data / (stem + ".npy");
        if (!fs::exists(proto) && !fs::exists(array)) {
            return files;
        }
        files.push_back(fs::exists(proto) ? proto : array);
    }
}

/// Names by position: what names.json says, else the graph's.
std::vector<std::string> namesOf(const Case& one, const graph::Graph& graph, const char* kind,
                                 std::span<const base::ValueId> ids)
{
    std::vector<std::string> names;
    std::ifstream file(one.data / "names.json");
    if (file) {
        return nlohmann::json::parse(file)[kind].get<std::vector<std::string>>();
    }
    for (const base::ValueId id : ids) {
        names.push_back(graph.value(id).name);
    }
    return names;
}

/// Some of ONNX's files hold the bits of bfloat16 under the name of uint16.
Tensor asDeclared(const Tensor& read, DType declared)
{
    const bool holdsBits = declared == DType::BFloat16 && read.dtype() == DType::UInt16;
    return holdsBits ? Tensor(declared, read.shape(), read.strides(), read.offset(), read.storage()) : read;
}

Result<Tensor> readTensor(const fs::path& file, DType declared)
{
    RETRO_TRY(const Tensor read, file.extension() == ".npy" ? tensor::readNpy(file) : formats::readTensorProto(file));
    return asDeclared(read, declared);
}

Error wrong(std::string message) { return {ErrorCode::Bug, std::move(message), {}}; }

Result<void> checkOutputs(const Case& one, const graph::Graph& graph, const std::vector<Tensor>& outputs)
{
    const std::vector<fs::path> files = filesOf(one.data, "output");
    const std::vector<std::string> names = namesOf(one, graph, "outputs", graph.outputs());
    if (files.empty() || names.size() < files.size()) {
        return wrong(fmt::format("the case expects {} outputs, the model has {}", files.size(), names.size()));
    }
    for (std::size_t i = 0; i < files.size(); ++i) {
        const auto at = std::find_if(graph.outputs().begin(), graph.outputs().end(),
                                     [&](base::ValueId id) { return graph.value(id).name == names[i]; });
        if (at == graph.outputs().end()) {
            return wrong(fmt::format("the model has no output '{}'", names[i]));
        }
        RETRO_TRY(const Tensor expected, readTensor(files[i], graph.value(*at).dtype));
        const Tensor& actual = outputs[static_cast<std::size_t>(at - graph.outputs().begin())];
        const std::string difference = compare(actual, expected, toleranceOf(one.name, expected.dtype()));
        if (!difference.empty()) {
            return wrong(fmt::format("output '{}': {}", names[i], difference));
        }
    }
    return {};
}

} // namespace

Result<std::vector<Tensor>> inputsOf(const Case& one, const graph::Graph& graph)
{
    if (std::ifstream file(one.data / "case.json"); file) { // the golden cases of language models name their files
        std::vector<std::string> named;
        const auto meta = nlohmann::json::parse(file);
        for (const auto& [name, array] : meta.at("inputs").items()) {
            named.push_back(name + "=" + (one.data / array.get<std::string>()).string());
        }
        return engine::resolveInputs(named, graph, {});
    }
    const std::vector<fs::path> files = filesOf(one.data, "input");
    const std::vector<std::string> names = namesOf(one, graph, "inputs", graph.inputs());
    if (names.size() < files.size()) {
        return wrong(fmt::format("the case has {} inputs, the model {}", files.size(), names.size()));
    }
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < files.size(); ++i) {
        texts.push_back(names[i] + "=" + files[i].string());
    }
    RETRO_TRY(std::vector<Tensor> inputs, engine::resolveInputs(texts, graph, {}));
    for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
        const graph::Value& input = graph.value(graph.inputs()[i]);
        const auto at = std::find(names.begin(), names.end(), input.name);
        if (input.dtype == DType::BFloat16 && at < names.begin() + static_cast<std::ptrdiff_t>(files.size())) {
            RETRO_TRY(inputs[i], readTensor(files[static_cast<std::size_t>(at - names.begin())], input.dtype));
        }
    }
    return inputs;
}

std::vector<Case> findCases(const fs::path& folder)
{
    std::vector<Case> cases;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        if (entry.is_directory() && isData(entry.path())) {
            std::string name = fs::relative(entry.path(), folder).generic_string();
            if (name.ends_with("/test_data_set_0")) {
                name.resize(name.rfind('/'));
            }
            cases.push_back({name, modelOf(entry.path()), entry.path()});
        }
    }
    std::sort(cases.begin(), cases.end(), [](const Case& a, const Case& b) { return a.name < b.name; });
    return cases;
}

Result<void> runCase(const Case& one)
{
    RETRO_TRY(const engine::LoadedModelPointer model, engine::loadModel(one.model));
    RETRO_TRY(const std::vector<Tensor> inputs, inputsOf(one, *model->graph()));
    RETRO_TRY(const engine::ForwardOutputs result, engine::runForward(*model, inputs, engine::precisionOf(*model)));
    if (!result.leftOut.empty()) {
        return base::inputError(fmt::format("{}", fmt::join(result.leftOut, "; ")));
    }
    return checkOutputs(one, *model->graph(), result.outputs);
}

} // namespace retro::conformance
