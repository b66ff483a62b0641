// SPDX-License-Identifier: Apache-2.0
// golden_tape: every case of $RETROGRADE_GOLDEN/tape, else of tests/data/golden/tape. Prints one line per failing case;
// fails when there is none.
#include "tests/core/tape/golden.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <vector>

using nlohmann::json;
using namespace retro::tapetest;

namespace
{

std::filesystem::path goldenFolder()
{
    const char* root = std::getenv("RETROGRADE_GOLDEN");
    return std::filesystem::path(root != nullptr ? root : RETRO_SOURCE_DIR "/tests/data/golden") / "tape";
}

std::vector<std::filesystem::path> caseFiles()
{
    std::vector<std::filesystem::path> files;
    std::error_code failed;
    for (const auto& entry : std::filesystem::directory_iterator(goldenFolder(), failed)) {
        if (entry.path().extension() == ".json") {
            files.push_back(entry.path());
        }
    }
    std::sort(files.begin(), files.end());
    return files;
}

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

} // namespace

int main()
{
    const std::vector<std::filesystem::path> files = caseFiles();
    if (files.empty()) {
        fmt::print("FAIL no case in {}; set RETROGRADE_GOLDEN to the folder that holds tape/\n",
                   goldenFolder().string());
        return 1;
    }
    int failures = 0;
    for (const std::filesystem::path& file : files) {
        const std::string difference = checkFile(file);
        if (!difference.empty()) {
            fmt::print("FAIL {}: {}\n", file.stem().string(), difference);
            ++failures;
        }
    }
    fmt::print("{} cases, {} failures\n", files.size(), failures);
    return failures == 0 ? 0 : 1;
}
