// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace retro::formats
{

/// A picture that a card names.
struct CardPicture
{
    std::string file;                            ///< relative to the card
    std::string trueClass;                       ///< may be empty
    std::optional<std::array<int, 4>> tagBox;    ///< x, y, width, height in model pixels
    std::optional<std::array<int, 4>> objectBox; ///< around what the picture shows, likewise
};

/// How a picture fills the rows and columns of an input: each side by itself; its middle that has the sides of the
/// input
/// ("crop"), or a part of that ("crop=0.875": 224 of 256 pixels); all of it, with black bars.
inline constexpr std::string_view kStretch = "stretch";
inline constexpr std::string_view kCrop = "crop";
inline constexpr std::string_view kLetterbox = "letterbox";
inline constexpr const char* kFrames = "stretch, crop, crop=PART (above 0, up to 1: 0.875 is 224 of 256), or letterbox";
/// Of "crop" 1, of "crop=0.875" 0.875; nothing of others.
[[nodiscard]] std::optional<double> croppedPart(std::string_view frame);
/// True for one of kFrames.
[[nodiscard]] bool isFrame(std::string_view frame);

/// How a picture becomes the model's input, and what its outputs mean (docs/formats/card.md).
struct ModelCard
{
    std::string model;
    std::string title;
    std::string inputName;
    std::string inputKind = "image"; ///< "image" or "array"
    std::string layout = "NCHW";     ///< NCHW, NHWC, NTC or NT
    std::string channels = "RGB";    ///< RGB, BGR or GRAY
    std::string frame = "stretch";   ///< how a picture of other sides becomes one of the model's: isFrame()
    std::array<double, 2> scale{0, 1};
    std::vector<double> mean;
    std::vector<double> deviation;       ///< "std"
    std::array<int, 2> size{0, 0};       ///< width, height; 0 = as the model's input says
    std::vector<std::string> vocabulary; ///< of tokens: the word of every number from 0
    std::string unknown;                 ///< the word of the vocabulary for words that are not in it; may be empty
    std::vector<std::string> labels;
    std::string scores;                   ///< "logits", "probabilities", "numbers"; empty = as the graph says
    std::string composite;                ///< empty = auto; a file is relative to the card
    std::string target;                   ///< empty = argmax
    std::vector<std::string> noRewrite;   ///< graph rewrites that are switched off, by name
    std::vector<std::string> rewrite;     ///< optional ones that are switched on, by name
    std::vector<std::string> checkpoints; ///< values at which the window takes LRP checkpoints
    bool stopsAtCheckpoints = false;      ///< the window's runs end when all are taken
    std::string control;                  ///< another model to compare with, relative to the card; may be empty
    std::vector<CardPicture> pictures;
    std::map<std::string, double> figures;
    /// Findings of a diagnosis that somebody said are none here: "flow.bias /conv2/Conv", a check and a place.
    std::vector<std::string> notAProblem;
    std::filesystem::path file{}; ///< the card; empty for one that was parsed from a text
    bool describesInput = true;   ///< it says how pixels become numbers, or that the input is an array
};

/// Reads a card. Errors (Input) name file and field: not JSON, wrong version, wrong type. Unknown fields are ignored.
[[nodiscard]] base::Result<ModelCard> readCard(const std::filesystem::path& path);
/// A card from its JSON text; `where` is used in messages. Errors as readCard.
[[nodiscard]] base::Result<ModelCard> parseCard(const std::string& text, const std::string& where);
/// The card beside a model, `<model>.card.json` without the model's extension (`a.onnx` → `a.card.json`); none when
/// there is no such file.
[[nodiscard]] base::Result<std::optional<ModelCard>> cardOf(const std::filesystem::path& model);

} // namespace retro::formats
