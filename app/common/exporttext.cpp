// SPDX-License-Identifier: Apache-2.0
#include "app/common/exporttext.h"

#include "core/base/file.h"
#include "core/base/jsonout.h"
#include "core/engine/language/languagepage.h"

#include <nlohmann/json.hpp>

namespace retro::app
{

base::Result<void> exportText(const trace::RunText& text, const trace::Run& run, const std::filesystem::path& path)
{
    const engine::LanguageReport report = engine::reportOf(text, run);
    const std::string ending = path.extension().string();
    if (ending == ".html") {
        return base::writeFile(path, engine::languagePage(report));
    }
    if (ending == ".json") {
        return base::writeFile(path, base::jsonOut(engine::reportJson(report), 1) + "\n");
    }
    return ending == ".csv" ? base::writeFile(path, engine::tokensCsv(report))
                            : base::usageError("a text is written as .html, .json or .csv", path.string());
}

} // namespace retro::app
