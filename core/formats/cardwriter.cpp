// SPDX-License-Identifier: Apache-2.0
#include "core/formats/cardwriter.h"

#include "core/base/file.h"
#include "core/base/inputfiles.h"
#include "core/base/jsonout.h"
#include "core/formats/insidefolder.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace retro::formats
{

namespace fs = std::filesystem;

using base::Result;
using nlohmann::ordered_json;

namespace
{

/// The card as it is in the file, members in their order; an empty object when there is no file.
Result<ordered_json> present(const fs::path& path)
{
    std::error_code ec;
    if (!fs::exists(path, ec)) {
        return ordered_json::object();
    }
    RETRO_CHECK(readCard(path)); // within all limits, and a version that we know
    RETRO_TRY(const std::string text, base::readTextFile(path, kMaxCardBytes));
    return ordered_json::parse(text, nullptr, false); // read once more, for the order of its members
}

/// Lists of numbers are left alone when they say the same: 0 and 0.0 are equal.
void put(ordered_json& object, const char* name, const ordered_json& value, bool isDefault)
{
    const bool isThere = object.contains(name);
    if (isThere ? object[name] != value : !isDefault) {
        object[name] = value;
    }
}

/// Order of axes and colours where they are not the usual ones; the rest where somebody knows it.
void putInput(ordered_json& root, const ModelCard& card)
{
    ordered_json input = root.contains("input") ? root["input"] : ordered_json::object();
    const ModelCard usual;
    const bool isImage = card.inputKind == "image";
    const bool isKnown = card.describesInput && isImage;
    put(input, "kind", card.inputKind, !card.describesInput);
    put(input, "layout", card.layout, !isKnown && card.layout == usual.layout);
    if (isImage) { // an array is taken as it is
        put(input, "channels", card.channels, !isKnown && card.channels == usual.channels);
        put(input, "frame", card.frame, card.frame == usual.frame);
    }
    if (isKnown) {
        put(input, "scale", card.scale, false);
        put(input, "mean", card.mean, card.mean.empty());
        put(input, "std", card.deviation, card.deviation.empty());
    }
    if (!input.empty()) {
        root["input"] = input;
    }
}

/// A card with a composite file of another place would be refused when it is read.
Result<void> checkComposite(const ModelCard& card, const fs::path& path)
{
    std::string file = card.composite.substr(0, card.composite.find('|'));
    file.erase(file.find_last_not_of(' ') + 1);
    if (file.ends_with(".json") && leavesFolder(file)) {
        return base::outputError(fmt::format("the composite '{}' is not inside the card's folder; copy the file there "
                                             "and choose it there",
                                             file),
                                 path.string());
    }
    return {};
}

} // namespace

Result<bool> saveCardChoices(const fs::path& model, const ModelCard& card)
{
    const fs::path path = fs::path(model).replace_extension("card.json");
    RETRO_CHECK(checkComposite(card, path));
    const base::OwnResultsScope own; // the card is changed, not written over
    RETRO_TRY(ordered_json root, present(path));
    const ordered_json before = root;
    put(root, "format", "retrograde-card/1", false);
    if (!root.contains("model")) {
        root["model"] = model.filename().string();
    }
    putInput(root, card);
    put(root, "composite", card.composite, card.composite.empty());
    put(root, "target", card.target, card.target.empty());
    put(root, "no_rewrite", card.noRewrite, card.noRewrite.empty());
    put(root, "rewrite", card.rewrite, card.rewrite.empty());
    put(root, "checkpoints", card.checkpoints, card.checkpoints.empty());
    put(root, "stop_at_checkpoints", card.stopsAtCheckpoints, !card.stopsAtCheckpoints);
    if (root == before) {
        return false;
    }
    RETRO_CHECK(base::writeFile(path, base::jsonOut(root, 2) + "\n"));
    return true;
}

Result<void> saveNotAProblem(const fs::path& model, const std::vector<std::string>& findings)
{
    const fs::path path = fs::path(model).replace_extension("card.json");
    const base::OwnResultsScope own;
    RETRO_TRY(ordered_json root, present(path));
    const ordered_json before = root;
    put(root, "not_a_problem", findings, findings.empty());
    if (root == before) {
        return {};
    }
    put(root, "format", "retrograde-card/1", false);
    if (!root.contains("model")) {
        root["model"] = model.filename().string();
    }
    return base::writeFile(path, base::jsonOut(root, 2) + "\n");
}

} // namespace retro::formats
