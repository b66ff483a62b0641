// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/model/loadmodel.h"
#include "core/engine/question/question.h"

#include <QToolBar>

class QLabel;
class QPushButton;

namespace retro::app
{

/// What a model without a card needs before it can be explained, in a sentence: an input, how its pixels become numbers
/// (a guess), and what is explained. With the ways to say so. Of a file that is an explanation it says that. Not there
/// for any other model. GUI thread.
class NeedsBar final : public QToolBar
{
    Q_OBJECT

public:
    explicit NeedsBar(QWidget* parent = nullptr);

    /// Null: nothing is needed.
    void setModel(const engine::LoadedModelPointer& model, const engine::Question& question);
    [[nodiscard]] QString sentence() const;

signals:
    /// A file is to be chosen as input.
    void inputWanted();
    /// Explain this input: "random:1".
    void sourceWanted(const QString& source);
    /// All choices are to be seen.
    void choicesWanted();

private:
    QLabel* m_sentence = nullptr;
    QPushButton* m_random = nullptr;
};

/// "x (1×3×224×224)", of several inputs with commas: what an input must be.
[[nodiscard]] QString inputWords(const graph::Graph& graph);

} // namespace retro::app
