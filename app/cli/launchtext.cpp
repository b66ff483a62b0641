// SPDX-License-Identifier: Apache-2.0
#include "app/cli/launchtext.h"

#include "app/cli/outputfolder.h"
#include "core/tensor/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

namespace retro::app
{

namespace
{

std::string fileNameOf(std::string_view name)
{
    std::string file(name);
    std::ranges::transform(file, file.begin(),
                           [](unsigned char c) { return c == ' ' ? '_' : static_cast<char>(std::tolower(c)); });
    return file + ".npy";
}

std::string_view roleWord(lut::Role role)
{
    switch (role) {
    case lut::Role::Given:
        return "given";
    case lut::Role::Learned:
        return "learned";
    case lut::Role::Kept:
        return "kept";
    case lut::Role::Scratch:
        return "scratch";
    case lut::Role::Result:
        return "result";
    }
    return "";
}

std::string_view useWord(const ops::TableBuffer& buffer)
{
    return buffer.isRead && buffer.isWritten ? "read, written"
           : buffer.isRead                   ? "read"
           : buffer.isWritten                ? "written"
                                             : "";
}

} // namespace

nlohmann::ordered_json launchJson(const trace::LaunchDetail& detail)
{
    const lut::Launch& launch = detail.schedule.launches[detail.launch];
    nlohmann::ordered_json buffers = nlohmann::ordered_json::array();
    for (const ops::TableBuffer& one : detail.buffers) {
        const lut::Buffer& declared = *detail.schedule.find(one.id);
        nlohmann::ordered_json entry{{"name", declared.name},        {"role", roleWord(declared.role)},
                                     {"shape", declared.shape},      {"bytes", declared.bytes},
                                     {"read", one.isRead},           {"written", one.isWritten},
                                     {"elements", one.count},        {"non_zeros", one.nonZeros},
                                     {"least", one.least},           {"most", one.most},
                                     {"whole", one.values.isValid()}};
        if (const std::vector<std::string> columns = ops::columnsOf(one.id); !columns.empty()) {
            entry["columns"] = columns;
        }
        buffers.push_back(std::move(entry));
    }
    return {{"kernel", lut::nameOf(launch.kernel)},
            {"variant", lut::nameOf(launch.variant)},
            {"stream", launch.stream},
            {"path", detail.schedule.path == lut::Path::Documented ? "documented" : "fused"},
            {"buffers", buffers}};
}

std::vector<std::string> launchLines(const trace::LaunchDetail& detail)
{
    const lut::Launch& launch = detail.schedule.launches[detail.launch];
    const std::string_view variant = lut::nameOf(launch.variant);
    std::vector<std::string> lines{fmt::format("launch        {}{}{} on stream {}", lut::nameOf(launch.kernel),
                                               variant.empty() ? "" : ", ", variant, launch.stream)};
    for (const ops::TableBuffer& one : detail.buffers) {
        const lut::Buffer& declared = *detail.schedule.find(one.id);
        lines.push_back(fmt::format("  {:<30} {:<13} {:<22} {:>10} of {:>10} not 0   {:.6g} … {:.6g}", declared.name,
                                    useWord(one), fmt::format("{}", fmt::join(declared.shape, " × ")), one.nonZeros,
                                    one.count, one.least, one.most));
    }
    if (detail.schedule.path == lut::Path::Fused) {
        lines.emplace_back("  Firing Statistics and Before Detectors Gradients are buffers of the documented path: "
                           "explain --lut-path documented");
    }
    return lines;
}

base::Result<void> writeBuffers(const std::filesystem::path& folder, const trace::LaunchDetail& detail)
{
    RETRO_TRY(const HeldFolder lock, holdFolder(folder));
    for (const ops::TableBuffer& one : detail.buffers) {
        if (one.values.isValid()) {
            RETRO_CHECK(tensor::writeNpy(folder / fileNameOf(detail.schedule.find(one.id)->name), one.values));
        }
    }
    return {};
}

} // namespace retro::app
