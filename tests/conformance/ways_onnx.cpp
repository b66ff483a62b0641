// SPDX-License-Identifier: Apache-2.0
// Takes every ONNX case through what the verbs do: info, run, explain, explain --parameters, grad and verify. Made for
// a build with sanitizers (`./dev sanitize`), which end the process at the first fault. Without a folder: the models of
// Debian's libonnx-testdata (skipped with status 77 where that is not installed); RETRO_ONNX_FOLDERS names more, parted
// by ':'. RETRO_TEST_PART=2/8 takes the second of eight shares.
#include "core/formats/onnx.h"
#include "tests/conformance/isolation.h"
#include "tests/conformance/peakmemory.h"
#include "tests/conformance/ways.h"
#include "tests/parts.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>

using namespace retro;
using namespace retro::conformance;

namespace fs = std::filesystem;

using base::Result;

namespace
{

constexpr const char* kDebianFolder = "/usr/share/libonnx-testdata/data";
constexpr int kSkipped = 77;
/// Most memory of one case, in KiB.
constexpr long kMostMemory = 4L << 20;

Result<void> goEveryWayOf(const Case& one)
{
    (void)takePeakKiB();
    RETRO_TRY(const engine::LoadedModelPointer model, engine::loadModel(one.model));
    RETRO_TRY(const std::vector<tensor::Tensor> inputs, inputsOf(one, *model->graph()));
    RETRO_TRY(const WaysDone done, goEveryWay(*model, inputs));
    if (const long peak = takePeakKiB(); peak > kMostMemory) {
        return base::Error{base::ErrorCode::Bug, fmt::format("the case took {} MiB", peak >> 10U), {}};
    }
    return done.answered > 1 ? Result<void>() : base::inputError(fmt::format("{}", fmt::join(done.refused, "; ")));
}

std::vector<Case> casesBelow(const std::vector<fs::path>& folders)
{
    std::vector<Case> cases;
    for (const fs::path& folder : folders) {
        const std::vector<Case> more = findCases(folder);
        cases.insert(cases.end(), more.begin(), more.end());
    }
    return cases;
}

std::vector<fs::path> wantedFolders(int argc, char** argv)
{
    std::vector<fs::path> folders(argv + 1, argv + argc);
    if (folders.empty() && fs::exists(kDebianFolder)) {
        folders.emplace_back(kDebianFolder);
    }
    if (const char* more = std::getenv("RETRO_ONNX_FOLDERS")) {
        std::istringstream text(more);
        for (std::string folder; std::getline(text, folder, ':');) {
            folders.emplace_back(folder);
        }
    }
    return folders;
}

} // namespace

int main(int argc, char** argv)
{
    const std::vector<Case> cases = casesBelow(wantedFolders(argc, argv));
    if (cases.empty()) {
        fmt::print("SKIPPED: there are no cases; install the Debian package libonnx-testdata\n");
        return kSkipped;
    }
    std::vector<Case> ofThisPart;
    for (const int number : tests::numbersOfThisPart(static_cast<int>(cases.size()))) {
        ofThisPart.push_back(cases[static_cast<std::size_t>(number)]);
    }
    std::map<Outcome, int> counts;
    int failed = 0;
    runIsolated(ofThisPart, goEveryWayOf, [&](const Case& one, const Ending& ending) {
        const bool isGood = ending.outcome == Outcome::Passed || ending.outcome == Outcome::Refused;
        ++counts[ending.outcome];
        if (!isGood) {
            ++failed;
            fmt::print("FAIL     {}: {}\n", one.name, ending.message);
            std::fflush(stdout);
        }
    });
    fmt::print("answered {}, refused {}, failed {}\n", counts[Outcome::Passed], counts[Outcome::Refused], failed);
    return failed == 0 ? 0 : 1;
}
