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
#include "tests/conformance/hostile.h"
#include "tests/conformance/isolation.h"
#include "tests/conformance/peakmemory.h"
#include "tests/conformance/ways.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

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
