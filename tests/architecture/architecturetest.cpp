// SPDX-License-Identifier: Apache-2.0
// Guards the table of folders in docs/architecture.md: what each folder may include, no Qt in core and kernels, no
// folder at the top that is not in the table, no literal colours in paint code, and no views that know each other.
#include <QtTest>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace
{

using Names = std::set<std::string>;

/// Folder → folders that it may include directly. Allowed is also whatever those may include (the relation is
/// transitive).
const std::map<std::string, Names> kMayUse{
    {"kernels/lut", {}},
    {"core/base", {}},
    {"core/text", {"core/base"}},
    {"core/tensor", {"core/base"}},
    {"core/graph", {"core/tensor"}},
    {"core/event", {"core/graph"}},
    {"core/program", {"core/event"}},
    {"core/ops", {"core/graph", "kernels/lut"}},
    {"core/rewrite", {"core/ops"}},
    {"core/formats", {"core/ops"}},
    {"core/analysis", {"core/ops"}},
    {"core/execute", {"core/analysis", "core/event", "core/ops"}},
    {"core/tape", {"core/execute"}},
    {"core/schedule", {"core/analysis", "core/event"}},
    {"core/runtime", {"core/schedule", "core/tape"}},
    {"core/lrp", {"core/execute", "core/program", "core/rewrite"}},
    {"core/rows", {"core/tensor"}},
    {"core/trace", {"core/event", "core/execute", "core/program"}},
    {"core/diagnosis", {"core/lrp", "core/trace", "core/formats"}},
    {"core/layout", {"core/graph"}},
    {"core/engine",
     {"core/lrp", "core/trace", "core/diagnosis", "core/layout", "core/formats", "core/runtime", "core/analysis",
      "core/schedule", "core/tape", "core/text", "core/rows"}},
    {"views/common", {"core/trace", "core/layout", "core/formats"}},
    // Types of results, beside views/common.
    {"views/plan", {"core/schedule"}},
    // The question that a person asks, and the table of its fields; see onlyAppCallsTheEngine.
    {"views/run", {"core/engine"}},
    {"views/diagnose", {"core/diagnosis"}},
};

/// Every view folder may use views/common and nothing else of views.
const Names kViewMayUse{"views/common"};
/// app may use everything.
const std::set<std::string> kTopLevel{"app",     "core",  "kernels", "views", "resources",
                                      "samples", "tests", "docs",    "build", "dist"};

Names closure(const Names& start)
{
    Names all;
    std::vector<std::string> open(start.begin(), start.end());
    while (!open.empty()) {
        const std::string folder = open.back();
        open.pop_back();
        if (!all.insert(folder).second) {
            continue;
        }
        const auto at = kMayUse.find(folder);
        if (at != kMayUse.end()) {
            open.insert(open.end(), at->second.begin(), at->second.end());
        }
    }
    return all;
}

bool isSource(const fs::path& path)
{
    static const Names kExtensions{".h", ".cpp", ".cu", ".cuh"};
    return kExtensions.contains(path.extension().string());
}

std::vector<fs::path> sourcesUnder(const fs::path& folder)
{
    std::vector<fs::path> found;
    if (fs::is_directory(folder)) {
        for (const auto& entry : fs::recursive_directory_iterator(folder)) {
            if (entry.is_regular_file() && isSource(entry.path())) {
                found.push_back(entry.path());
            }
        }
    }
    std::sort(found.begin(), found.end());
    return found;
}

/// "core/lrp" of "core/lrp/rules/rule.h".
std::string folderOf(const std::string& path)
{
    const auto slash = path.find('/', path.find('/') + 1);
    return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

struct Include
{
    std::string text; // core/base/result.h or QWidget
    bool isQuoted = false;
};

std::vector<Include> includesOf(const fs::path& path)
{
    static const std::regex kInclude(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])");
    std::vector<Include> includes;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        std::smatch match;
        if (std::regex_search(line, match, kInclude)) {
            includes.push_back({match[2], match[1] == "\""});
        }
    }
    return includes;
}

Names allowedFor(const std::string& folder)
{
    if (folder.starts_with("views/") && folder != "views/common") {
        Names allowed = kViewMayUse;
        if (const auto own = kMayUse.find(folder); own != kMayUse.end()) {
            allowed.insert(own->second.begin(), own->second.end());
        }
        return closure(allowed);
    }
    const auto at = kMayUse.find(folder);
    return at == kMayUse.end() ? Names() : closure(at->second);
}

} // namespace

class ArchitectureTest : public QObject
{
    Q_OBJECT
    const fs::path m_root = RETRO_SOURCE_DIR;

private slots:
    void foldersAtTheTopAreInTheTable()
    {
        for (const auto& entry : fs::directory_iterator(m_root)) {
            const std::string name = entry.path().filename().string();
            if (entry.is_directory() && !name.starts_with(".")) {
                QVERIFY2(kTopLevel.contains(name), ("not a folder of the architecture: " + name).c_str());
            }
        }
    }

    void foldersOfCoreAreInTheTable()
    {
        for (const auto& entry : fs::directory_iterator(m_root / "core")) {
            const std::string name = "core/" + entry.path().filename().string();
            if (entry.is_directory()) {
                QVERIFY2(kMayUse.contains(name), ("not in the table of folders: " + name).c_str());
            }
        }
    }

    void includesFollowTheTable()
    {
        std::size_t looked = 0;
        for (const char* top : {"core", "kernels", "views"}) {
            for (const fs::path& path : sourcesUnder(m_root / top)) {
                const std::string relative = fs::relative(path, m_root).generic_string();
                const std::string folder = folderOf(relative);
                const Names allowed = allowedFor(folder);
                for (const Include& include : includesOf(path)) {
                    const std::string target = folderOf(include.text);
                    const bool ours = include.isQuoted &&
                                      (include.text.starts_with("core/") || include.text.starts_with("kernels/") ||
                                       include.text.starts_with("views/") || include.text.starts_with("app/"));
                    const bool good = !ours || target == folder || allowed.contains(target);
                    QVERIFY2(good, (relative + " may not include " + include.text).c_str());
                    ++looked;
                }
            }
        }
        QVERIFY(looked > 100);
    }

    void coreAndKernelsHaveNoQtAndNoGraphviz()
    {
        static const std::regex kForbidden(R"(^(Q[A-Z]\w*|Qt\w+/.*|graphviz/.*|cgraph\.h|gvc\.h)$)");
        for (const char* top : {"core", "kernels"}) {
            for (const fs::path& path : sourcesUnder(m_root / top)) {
                for (const Include& include : includesOf(path)) {
                    QVERIFY2(!std::regex_match(include.text, kForbidden),
                             (path.string() + " includes " + include.text).c_str());
                }
            }
        }
    }

    void onlyAppCallsTheEngine()
    {
        for (const fs::path& path : sourcesUnder(m_root / "views")) {
            for (const Include& include : includesOf(path)) {
                const bool isQuestion = (include.text == "core/engine/question/question.h" ||
                                         include.text == "core/engine/question/fields.h") &&
                                        path.string().find("/views/run/") != std::string::npos;
                QVERIFY2(isQuestion || !include.text.starts_with("core/engine"),
                         (path.string() + " includes " + include.text).c_str());
            }
        }
    }

    void coloursComeFromTheTheme()
    {
        // No raw string: moc would lose its way in it and drop every test that follows.
        static const std::regex kLiteral("QColor\\s*[({]\\s*(\\d|\"#|0x)|"
                                         "Qt::(red|blue|green|black|white|gray|yellow|darkGray|lightGray)\\b|"
                                         "qRgb\\(\\s*\\d");
        static const Names kOwners{"theme.cpp", "colormap.cpp", "picture.cpp"};
        for (const char* top : {"views", "app"}) {
            for (const fs::path& path : sourcesUnder(m_root / top)) {
                if (kOwners.contains(path.filename().string())) {
                    continue;
                }
                std::ifstream file(path);
                int number = 0;
                for (std::string line; std::getline(file, line);) {
                    ++number;
                    QVERIFY2(!std::regex_search(line, kLiteral),
                             (path.string() + ":" + std::to_string(number) + " has a literal colour").c_str());
                }
            }
        }
    }

    /// Qt paints with its global pool and waits for it (views/common/paint/background.h).
    void nothingRunsInThePoolThatQtPaintsWith()
    {
        for (const char* top : {"views", "app"}) {
            for (const fs::path& path : sourcesUnder(m_root / top)) {
                std::ifstream file(path);
                for (std::string line; std::getline(file, line);) {
                    QVERIFY2(line.find("QThreadPool::globalInstance") == std::string::npos,
                             (path.string() + " uses the global pool").c_str());
                }
            }
        }
    }

    void everySourceNamesItsLicence()
    {
        for (const char* top : {"app", "core", "kernels", "views", "tests"}) {
            for (const fs::path& path : sourcesUnder(m_root / top)) {
                std::ifstream file(path);
                std::string line;
                std::getline(file, line);
                QVERIFY2(line == "// SPDX-License-Identifier: Apache-2.0",
                         (path.string() + " has no SPDX line").c_str());
            }
        }
    }
};

QTEST_GUILESS_MAIN(ArchitectureTest)
#include "architecturetest.moc"
