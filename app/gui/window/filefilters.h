// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <QStringList>

namespace retro::app
{

/// Ending of a recorded run, without the dot.
inline const QString kRunEnding = QStringLiteral("retro");

/// Endings of arrays by value name, which a run is compared with.
inline const QStringList kArrayEndings{QStringLiteral("npz")};
/// Endings of memory snapshots of PyTorch.
inline const QStringList kSnapshotEndings{QStringLiteral("pickle"), QStringLiteral("pkl")};

/// A filter of a file dialog: "Models (*.onnx *.json)".
[[nodiscard]] QString filterOf(const QString& title, const QStringList& endings);

/// Filters for all that the window opens: all together, each format of models by itself (formats::modelFormats),
/// recorded runs, arrays, memory snapshots, all files. Plans are JSON, as models may be.
[[nodiscard]] QString openFilters();
/// Endings of models and recorded runs, without the dot.
[[nodiscard]] QStringList modelAndRunEndings();
/// Whether a file is called like a model or a recorded run.
[[nodiscard]] bool isModelOrRun(const QString& path);

} // namespace retro::app
