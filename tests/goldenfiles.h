// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace retro::tests
{

/// Folder of a family of golden cases: of $RETROGRADE_GOLDEN when that is set, else of tests/data/golden.
inline std::filesystem::path goldenFolder(const std::string& family)
{
    const char* root = std::getenv("RETROGRADE_GOLDEN");
    return std::filesystem::path(root != nullptr ? root : RETRO_SOURCE_DIR "/tests/data/golden") / family;
}

/// Its JSON files, by name; none when there is no such folder.
inline std::vector<std::filesystem::path> goldenFiles(const std::filesystem::path& folder)
{
    std::vector<std::filesystem::path> files;
    std::error_code failed;
    for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
        if (entry.path().extension() == ".json") {
            files.push_back(entry.path());
        }
    }
    std::sort(files.begin(), files.end());
    return files;
}

/// The main function of a golden test: `failuresOf` prints a line for every failure of a file and counts them. Fails
/// when there is no file.
template <class F>
int runGolden(const std::string& family, const F& failuresOf)
{
    const std::vector<std::filesystem::path> files = goldenFiles(goldenFolder(family));
    if (files.empty()) {
        std::printf("FAIL no case in %s; set RETROGRADE_GOLDEN to the folder that holds %s/\n",
                    goldenFolder(family).string().c_str(), family.c_str());
        return 1;
    }
    int failures = 0;
    for (const std::filesystem::path& file : files) {
        failures += failuresOf(file);
    }
    std::printf("%zu cases, %d failures\n", files.size(), failures);
    return failures == 0 ? 0 : 1;
}

} // namespace retro::tests
