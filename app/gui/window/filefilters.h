// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <QStringList>

namespace retro::app
{

/// Ending of a recorded run, without the dot.
inline const QString kRunEnding = QStringLiteral("retro");

/// A filter of a file dialog: "Models (*.onnx *.json)".
[[nodiscard]] QString filterOf(const QString& title, const QStringList& endings);

/// Filters for models and recorded runs: all together, each format by itself (formats::modelFormats), all files.
[[nodiscard]] QString openFilters();
/// Whether a file is called like a model or a recorded run.
[[nodiscard]] bool isModelOrRun(const QString& path);

} // namespace retro::app
