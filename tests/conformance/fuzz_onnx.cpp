// SPDX-License-Identifier: Apache-2.0
// Valid models with hostile numbers: takes the small ONNX cases of Debian's libonnx-testdata, changes extents,
// attributes, constants, operands or inputs, or writes the graph as nested functions, and goes every way with what came
// out. Every answer and every refusal by name is right; a signal, a bug, no end, or much memory is not.
//
//     fuzz_onnx [FIRST [COUNT]]        tries these numbers; a number is the same model everywhere
//     RETRO_FUZZ_SECONDS=600 fuzz_onnx tries numbers from the clock on, for so long
//
// A number that failed is printed with what was done; `fuzz_onnx NUMBER 1` does it again, and with RETRO_FUZZ_KEEP=DIR
// its model is written to that folder first.
#include "core/base/file.h"
#include "core/base/memorylimit.h"
#include "core/formats/onnx.h"
#include "core/formats/onnxschema.pb.h"
#include "core/tensor/tensor.h"
#include "tests/conformance/isolation.h"
#include "tests/conformance/peakmemory.h"
#include "tests/conformance/ways.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace retro::conformance
{

using onnxschema::AttributeProto;
using onnxschema::FunctionProto;
using onnxschema::GraphProto;
using onnxschema::ModelProto;
using onnxschema::NodeProto;
using onnxschema::TensorProto;
using tensor::DType;
using tensor::Tensor;

namespace
{

/// A random generator whose numbers are the same everywhere.
using Random = std::mt19937_64;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

std::size_t below(Random& random, std::size_t count) { return static_cast<std::size_t>(random() % count); }

std::int64_t hostileInteger(Random& random, std::int64_t was)
{
    constexpr std::array<std::int64_t, 24> numbers{0,
                                                   1,
                                                   -1,
                                                   2,
                                                   -2,
                                                   3,
                                                   7,
                                                   127,
                                                   255,
                                                   65536,
                                                   (1LL << 31) - 1,
                                                   1LL << 31,
                                                   -(1LL << 31),
                                                   (1LL << 33) + 1,
                                                   1LL << 40,
                                                   (1LL << 62) + 1,
                                                   kMost,
                                                   kLeast,
                                                   kLeast + 1,
                                                   100000,
                                                   64,
                                                   1000,
                                                   -100000,
                                                   5};
    const std::size_t at = below(random, numbers.size() + 4);
    const auto wrapped = static_cast<std::uint64_t>(was);
    switch (at - std::min(at, numbers.size())) {
    case 1:
        return static_cast<std::int64_t>(wrapped + 1);
    case 2:
        return static_cast<std::int64_t>(wrapped - 1);
    case 3:
        return static_cast<std::int64_t>(wrapped * 2);
    default:
        return at < numbers.size() ? numbers[at] : static_cast<std::int64_t>(0 - wrapped);
    }
}

double hostileNumber(Random& random)
{
    constexpr std::array numbers{0.0,
                                 -0.0,
                                 1.0,
                                 -1.0,
                                 0.5,
                                 1e-45,
                                 1e10,
                                 -1e10,
                                 3e38,
                                 -3e38,
                                 std::numeric_limits<double>::infinity(),
                                 -std::numeric_limits<double>::infinity(),
                                 std::numeric_limits<double>::quiet_NaN()};
    return numbers[below(random, numbers.size())];
}

/// One thing that can be changed, with its name for people.
struct Place
{
    std::string name;
    std::function<void(Random&)> change;
};

using Places = std::vector<Place>;

void addPlaces(GraphProto& graph, Places& places);

void addShape(onnxschema::TypeProto& type, const std::string& name, Places& places)
{
    if (!type.has_tensor_type()) {
        return;
    }
    auto& tensorType = *type.mutable_tensor_type();
    places.push_back({name + ": element type",
                      [&tensorType](Random& random) { tensorType.set_elem_type(static_cast<int>(random() % 29)); }});
    places.push_back({name + ": rank", [&tensorType](Random& random) {
                          auto& dims = *tensorType.mutable_shape()->mutable_dim();
                          if (random() % 2 == 0 && !dims.empty()) {
                              dims.RemoveLast();
                          } else {
                              dims.Add()->set_dim_value(hostileInteger(random, 1));
                          }
                      }});
    for (auto& dim : *tensorType.mutable_shape()->mutable_dim()) {
        places.push_back({name + ": extent", [&dim](Random& random) {
                              if (random() % 4 == 0) {
                                  dim.set_dim_param(random() % 2 == 0 ? "N" : "?");
                              } else {
                                  dim.set_dim_value(hostileInteger(random, dim.dim_value()));
                              }
                          }});
    }
}

/// Writes one element of raw data, where it has eight or four bytes.
void changeRaw(std::string& raw, int type, Random& random)
{
    const std::size_t width = type == TensorProto::INT64 || type == TensorProto::DOUBLE ? 8 : 4;
    if (raw.size() < width) {
        return;
    }
    const std::size_t at = below(random, raw.size() / width) * width;
    if (type == TensorProto::INT64 || type == TensorProto::INT32) {
        std::int64_t was = 0;
        std::memcpy(&was, raw.data() + at, width);
        const std::int64_t number = hostileInteger(random, was);
        std::memcpy(raw.data() + at, &number, width);
    } else if (type == TensorProto::FLOAT) {
        const auto number = static_cast<float>(hostileNumber(random));
        std::memcpy(raw.data() + at, &number, width);
    } else if (type == TensorProto::DOUBLE) {
        const double number = hostileNumber(random);
        std::memcpy(raw.data() + at, &number, width);
    }
}

void changeData(TensorProto& tensor, Random& random)
{
    if (tensor.has_raw_data()) {
        changeRaw(*tensor.mutable_raw_data(), tensor.data_type(), random);
    } else if (tensor.int64_data_size() > 0) {
        const auto at = static_cast<int>(below(random, static_cast<std::size_t>(tensor.int64_data_size())));
        tensor.set_int64_data(at, hostileInteger(random, tensor.int64_data(at)));
    } else if (tensor.int32_data_size() > 0) {
        const auto at = static_cast<int>(below(random, static_cast<std::size_t>(tensor.int32_data_size())));
        tensor.set_int32_data(at, static_cast<std::int32_t>(hostileInteger(random, tensor.int32_data(at))));
    } else if (tensor.float_data_size() > 0) {
        const auto at = static_cast<int>(below(random, static_cast<std::size_t>(tensor.float_data_size())));
        tensor.set_float_data(at, static_cast<float>(hostileNumber(random)));
    }
}

void addTensor(TensorProto& tensor, const std::string& name, Places& places)
{
    places.push_back({name + ": data", [&tensor](Random& random) { changeData(tensor, random); }});
    places.push_back({name + ": element type",
                      [&tensor](Random& random) { tensor.set_data_type(static_cast<int>(random() % 29)); }});
    places.push_back({name + ": rank", [&tensor](Random&) {
                          if (tensor.dims_size() > 0) {
                              tensor.mutable_dims()->RemoveLast();
                          } else {
                              tensor.add_dims(1);
                          }
                      }});
    for (int i = 0; i < tensor.dims_size(); ++i) {
        places.push_back({name + ": extent", [&tensor, i](Random& random) {
                              if (i < tensor.dims_size()) {
                                  tensor.set_dims(i, hostileInteger(random, tensor.dims(i)));
                              }
                          }});
    }
}

void addAttribute(AttributeProto& attribute, const std::string& node, Places& places)
{
    const std::string name = node + "." + attribute.name();
    if (attribute.type() == AttributeProto::INT) {
        places.push_back(
            {name, [&attribute](Random& random) { attribute.set_i(hostileInteger(random, attribute.i())); }});
    } else if (attribute.type() == AttributeProto::FLOAT) {
        places.push_back(
            {name, [&attribute](Random& random) { attribute.set_f(static_cast<float>(hostileNumber(random))); }});
    } else if (attribute.type() == AttributeProto::INTS) {
        for (int i = 0; i < attribute.ints_size(); ++i) {
            places.push_back({name, [&attribute, i](Random& random) {
                                  attribute.set_ints(i, hostileInteger(random, attribute.ints(i)));
                              }});
        }
    } else if (attribute.type() == AttributeProto::TENSOR) {
        addTensor(*attribute.mutable_t(), name, places);
    } else if (attribute.type() == AttributeProto::GRAPH) {
        addPlaces(*attribute.mutable_g(), places);
    }
}

void changeOperands(NodeProto& node, Random& random)
{
    const auto count = static_cast<std::size_t>(node.input_size());
    if (count == 0) {
        return;
    }
    const auto one = static_cast<int>(below(random, count));
    const auto other = static_cast<int>(below(random, count));
    switch (random() % 4) {
    case 0:
        node.mutable_input()->RemoveLast();
        break;
    case 1:
        node.set_input(one, "");
        break;
    case 2:
        node.set_input(one, node.input(other));
        break;
    default:
        node.mutable_input()->SwapElements(one, other);
    }
}

void changeAttributes(NodeProto& node, Random& random)
{
    const auto count = static_cast<std::size_t>(node.attribute_size());
    if (count == 0) {
        AttributeProto& added = *node.add_attribute();
        added.set_name("axis");
        added.set_type(AttributeProto::INT);
        added.set_i(hostileInteger(random, 0));
        return;
    }
    const auto one = static_cast<int>(below(random, count));
    switch (random() % 3) {
    case 0:
        node.mutable_attribute()->DeleteSubrange(one, 1);
        break;
    case 1:
        node.mutable_attribute(one)->set_name(node.attribute(one).name() + "x");
        break;
    default:
        if (node.attribute(one).ints_size() > 0) {
            node.mutable_attribute(one)->mutable_ints()->RemoveLast();
        }
    }
}

void addPlaces(GraphProto& graph, Places& places)
{
    for (auto& input : *graph.mutable_input()) {
        addShape(*input.mutable_type(), "input " + input.name(), places);
    }
    for (auto& output : *graph.mutable_output()) {
        addShape(*output.mutable_type(), "output " + output.name(), places);
    }
    for (TensorProto& tensor : *graph.mutable_initializer()) {
        addTensor(tensor, "constant " + tensor.name(), places);
    }
    for (NodeProto& node : *graph.mutable_node()) {
        places.push_back({node.op_type() + ": operands", [&node](Random& random) { changeOperands(node, random); }});
        places.push_back(
            {node.op_type() + ": attributes", [&node](Random& random) { changeAttributes(node, random); }});
        for (AttributeProto& attribute : *node.mutable_attribute()) {
            addAttribute(attribute, node.op_type(), places);
        }
    }
}

/// A function of the name with the nodes, inputs and outputs of the graph; initializers are inputs as well.
FunctionProto bodyFunction(const ModelProto& model, const std::string& name)
{
    const GraphProto& graph = model.graph();
    FunctionProto function;
    function.set_name(name);
    function.set_domain("hostile");
    *function.mutable_opset_import() = model.opset_import();
    std::set<std::string> inputs;
    for (const auto& input : graph.input()) {
        inputs.insert(input.name());
        function.add_input(input.name());
    }
    for (const auto& tensor : graph.initializer()) {
        if (inputs.insert(tensor.name()).second) {
            function.add_input(tensor.name());
        }
    }
    for (const auto& output : graph.output()) {
        function.add_output(output.name());
    }
    *function.mutable_node() = graph.node();
    return function;
}

NodeProto callOf(const FunctionProto& function, const std::string& name, const std::string& outputSuffix)
{
    NodeProto call;
    call.set_name(name);
    call.set_op_type(function.name());
    call.set_domain(function.domain());
    *call.mutable_input() = function.input();
    for (const std::string& output : function.output()) {
        call.add_output(output + outputSuffix);
    }
    return call;
}

/// Calls `inner` twice; the results of the second call are its own.
FunctionProto twice(const FunctionProto& inner, const std::string& name)
{
    FunctionProto outer = inner;
    outer.set_name(name);
    outer.clear_node();
    *outer.add_node() = callOf(inner, "first", "_first");
    *outer.add_node() = callOf(inner, "second", "");
    auto& opset = *outer.add_opset_import();
    opset.set_domain("hostile");
    opset.set_version(1);
    return outer;
}

/// A row-major copy with one element replaced.
template <class T>
Tensor withElement(const Tensor& tensor, T number, std::size_t at)
{
    const Tensor rows = tensor.contiguous();
    std::vector<T> numbers(rows.span<T>().begin(), rows.span<T>().end());
    numbers[at] = number;
    return Tensor::of<T>(tensor.shape(), numbers);
}

Tensor withHostileElement(const Tensor& tensor, Random& random)
{
    const std::size_t at = below(random, static_cast<std::size_t>(tensor.size()));
    switch (tensor.dtype()) {
    case DType::Float32:
        return withElement(tensor, static_cast<float>(hostileNumber(random)), at);
    case DType::Float64:
        return withElement(tensor, hostileNumber(random), at);
    case DType::Int64:
        return withElement(tensor, hostileInteger(random, tensor.contiguous().span<std::int64_t>()[at]), at);
    case DType::Int32:
        return withElement(tensor, static_cast<std::int32_t>(hostileInteger(random, 0)), at);
    default:
        return tensor;
    }
}

/// The first elements as a tensor of another shape: an axis of 1 before, the last extent less by one, or no axis at
/// all.
Tensor withHostileShape(const Tensor& tensor, Random& random)
{
    tensor::Shape shape = tensor.shape();
    switch (random() % 3) {
    case 0:
        shape.insert(shape.begin(), 1);
        return tensor.contiguous().reshaped(shape);
    case 1:
        return tensor.contiguous().reshaped({tensor.size()});
    default:
        return tensor::Tensor::zeros(tensor.dtype(), {0});
    }
}

/// Puts hostile numbers into a model that was valid: extents, attributes, integers of constants, element types,
/// operands that are missing, given twice or exchanged. The file stays a readable ONNX file. Returns what was done, for
/// people.
std::string makeHostile(ModelProto& model, Random& random)
{
    std::string done;
    const std::size_t count = 1 + below(random, 3);
    for (std::size_t i = 0; i < count; ++i) {
        Places places; // anew each time: a change may move what the places point at
        addPlaces(*model.mutable_graph(), places);
        const Place& place = places[below(random, places.size())];
        done += (done.empty() ? "" : ", ") + place.name;
        place.change(random);
    }
    return done;
}

/// The graph becomes the body of a function that the graph calls, and that function the body of another one that calls
/// it twice, and so on: the model means the same.
std::string wrapInFunctions(ModelProto& model, Random& random)
{
    std::vector<FunctionProto> functions{bodyFunction(model, "F0")};
    const std::size_t levels = below(random, 24);
    for (std::size_t i = 1; i <= levels; ++i) {
        functions.push_back(twice(functions.back(), fmt::format("F{}", i)));
    }
    model.mutable_graph()->clear_node();
    *model.mutable_graph()->add_node() = callOf(functions.back(), "call", "");
    auto& opset = *model.add_opset_import();
    opset.set_domain("hostile");
    opset.set_version(1);
    for (const FunctionProto& function : functions) {
        *model.add_functions() = function;
    }
    return fmt::format("{} levels of functions", levels);
}

/// Changes inputs: integers become hostile ones, floating numbers extremes, an extent is cut or an axis put before.
std::string makeHostile(std::vector<Tensor>& inputs, Random& random)
{
    if (inputs.empty()) {
        return {};
    }
    Tensor& one = inputs[below(random, inputs.size())];
    if (random() % 4 == 0) {
        one = withHostileShape(one, random);
        return "the shape of an input";
    }
    if (one.size() > 0) {
        one = withHostileElement(one, random);
    }
    return "an element of an input";
}

} // namespace

} // namespace retro::conformance

using namespace retro;
using namespace retro::conformance;

namespace fs = std::filesystem;

using base::Result;

namespace
{

constexpr const char* kDebianFolder = "/usr/share/libonnx-testdata/data/node";
constexpr int kSkipped = 77;
constexpr std::uint64_t kUsualCount = 400;
/// Numbers that one child process tries; what it holds of corpus and caches is let go after them.
constexpr std::uint64_t kBatch = 200;
/// Larger models say nothing that smaller ones do not, and take longer.
constexpr std::uintmax_t kLargestModel = 64U << 10U;
/// What tensors may take together; a model that needs more is refused.
constexpr std::uint64_t kTensorBytes = 1ULL << 30U;
/// Most memory of one try, in KiB: tensors, and what is made beside them.
constexpr long kMostMemory = 1536L << 10;

/// The operators of language models, of which Debian has none.
void addLanguageCases(std::vector<Case>& cases)
{
    for (const auto& entry : fs::directory_iterator(fs::path(RETRO_SOURCE_DIR "/tests/data/golden/llm/operators"))) {
        if (fs::exists(entry.path() / "case.json")) {
            cases.push_back({"llm/" + entry.path().filename().string(), entry.path() / "model.onnx", entry.path()});
        }
    }
    std::sort(cases.begin(), cases.end(), [](const Case& a, const Case& b) { return a.name < b.name; });
}

/// The small models, in the order of their names.
const std::vector<Case>& corpus()
{
    static const std::vector<Case> cases = [] {
        std::vector<Case> found = findCases(kDebianFolder);
        addLanguageCases(found);
        std::erase_if(
            found, [](const Case& one) { return !fs::exists(one.model) || fs::file_size(one.model) > kLargestModel; });
        return found;
    }();
    return cases;
}

/// What one number stands for.
struct Try
{
    std::string what; ///< for people
    std::string model;
    std::vector<tensor::Tensor> inputs;
};

Result<Try> makeTry(std::uint64_t number)
{
    Random random(number);
    const Case& one = corpus()[static_cast<std::size_t>(random() % corpus().size())];
    RETRO_TRY(const engine::LoadedModelPointer whole, engine::loadModel(one.model));
    Try made;
    RETRO_TRY(made.inputs, inputsOf(one, *whole->graph()));
    RETRO_TRY(const std::string bytes, base::readTextFile(one.model, kLargestModel));
    onnxschema::ModelProto model;
    if (!model.ParseFromString(bytes)) {
        return base::inputError("not a model");
    }
    const auto kind = random() % 8;
    made.what = one.name;
    if (kind == 0) {
        made.what += ": " + wrapInFunctions(model, random);
    }
    if (kind != 0 && kind != 1) {
        made.what += ": " + makeHostile(model, random);
    }
    if (kind < 3) {
        made.what += ": " + makeHostile(made.inputs, random);
    }
    made.model = model.SerializeAsString();
    return made;
}

Result<void> keep(std::uint64_t number, const Try& made)
{
    const char* folder = std::getenv("RETRO_FUZZ_KEEP");
    return folder == nullptr ? Result<void>()
                             : base::writeFile(fs::path(folder) / fmt::format("{}.onnx", number), made.model);
}

/// The number is the name of the case.
Result<void> tryNumber(const Case& one)
{
    const std::uint64_t number = std::stoull(one.name);
    const Result<Try> made = makeTry(number);
    if (!made.ok()) {
        return base::inputError(made.error().text()); // the case itself is one that is refused
    }
    RETRO_CHECK(keep(number, *made));
    (void)takePeakKiB();
    const std::span<const char> text(made->model);
    RETRO_TRY(const engine::LoadedModelPointer model, engine::parseModel(std::as_bytes(text), "hostile.onnx", {}));
    if (model->graph()->inputs().size() != made->inputs.size()) {
        return base::inputError("another number of inputs");
    }
    RETRO_CHECK(goEveryWay(*model, made->inputs));
    if (const long peak = takePeakKiB(); peak > kMostMemory) {
        return base::Error{base::ErrorCode::Bug, fmt::format("it took {} MiB", peak >> 10U), {}};
    }
    return {};
}

/// Tries `count` numbers; how many failed.
int tryNumbers(std::uint64_t first, std::uint64_t count)
{
    std::vector<Case> numbers;
    for (std::uint64_t i = 0; i < count; ++i) {
        numbers.push_back({std::to_string(first + i), {}, {}});
    }
    int failed = 0;
    runIsolated(numbers, tryNumber, [&](const Case& one, const Ending& ending) {
        if (ending.outcome != Outcome::Passed && ending.outcome != Outcome::Refused) {
            ++failed;
            const Result<Try> made = makeTry(std::stoull(one.name));
            fmt::print("FAIL     {} ({}): {}\n", one.name, made.ok() ? made->what : "", ending.message);
            std::fflush(stdout);
        }
    });
    return failed;
}

/// Tries numbers for so long; at least one batch.
int tryFor(std::chrono::seconds length, std::uint64_t& tried)
{
    const auto end = std::chrono::steady_clock::now() + length;
    const auto first = static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
    int failed = 0;
    do {
        failed += tryNumbers(first + tried, kBatch);
        tried += kBatch;
    } while (std::chrono::steady_clock::now() < end);
    return failed;
}

} // namespace

int main(int argc, char** argv)
{
    if (!fs::exists(kDebianFolder)) {
        fmt::print("SKIPPED: the models are not here; install the Debian package libonnx-testdata\n");
        return kSkipped;
    }
    base::MemoryLimit::choose(kTensorBytes);
    std::uint64_t tried = 0;
    int failed = 0;
    const char* seconds = std::getenv("RETRO_FUZZ_SECONDS");
    if (seconds != nullptr && argc == 1) {
        failed = tryFor(std::chrono::seconds(std::stoll(seconds)), tried);
    } else {
        tried = argc > 2 ? std::stoull(argv[2]) : kUsualCount;
        failed = tryNumbers(argc > 1 ? std::stoull(argv[1]) : 1, tried);
    }
    fmt::print("tried {}, failed {}\n", tried, failed);
    return failed == 0 ? 0 : 1;
}
