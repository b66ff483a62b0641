// SPDX-License-Identifier: Apache-2.0
// golden_tape: every case of $RETROGRADE_GOLDEN/tape, else of tests/data/golden/tape. Prints one line per failing case;
// fails when there is none.
#include "tests/core/tape/golden.h"
#include "tests/goldenfiles.h"

#include <fmt/format.h>

#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>

using nlohmann::json;
using namespace retro::tapetest;

namespace
{

std::string check(const json& golden)
{
    static const std::map<std::string, std::function<std::string(const json&)>> kChecks{
        {"tape", checkPass},         {"tape_error", checkFault}, {"ccs", checkCritical},
        {"liveness", checkLiveness}, {"choice", checkChoice},
    };
    const std::string kind = golden.at("kind");
    const auto at = kChecks.find(kind);
    return at == kChecks.end() ? "no check for the kind " + kind : at->second(golden);
}

std::string checkFile(const std::filesystem::path& file)
{
    try {
        std::ifstream stream(file);
        return check(json::parse(stream));
    } catch (const std::exception& error) {
        return error.what();
    }
}

int failuresOf(const std::filesystem::path& file)
{
    const std::string difference = checkFile(file);
    if (!difference.empty()) {
        fmt::print("FAIL {}: {}\n", file.stem().string(), difference);
    }
    return difference.empty() ? 0 : 1;
}

} // namespace

int main() { return retro::tests::runGolden("tape", failuresOf); }
