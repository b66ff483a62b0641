// SPDX-License-Identifier: Apache-2.0
#include "core/ops/schema/schematables.h"

namespace retro::ops
{

const SchemaTable kLearningSchemas{
    {"ai.onnx.ml", "ArrayFeatureExtractor", 1, "X Y", "Z", ""},
    {"ai.onnx.ml", "Binarizer", 1, "X", "Y", "threshold:float"},
    {"ai.onnx.ml", "CastMap", 1, "X", "Y", "cast_to:text map_form:text max_map:int"},
    {"ai.onnx.ml", "CategoryMapper", 1, "X", "Y",
     "cats_int64s:ints cats_strings:texts default_int64:int default_string:text"},
    {"ai.onnx.ml", "DictVectorizer", 1, "X", "Y", "int64_vocabulary:ints string_vocabulary:texts"},
    {"ai.onnx.ml", "FeatureVectorizer", 1, "X+", "Y", "inputdimensions:ints"},
    {"ai.onnx.ml", "Imputer", 1, "X", "Y",
     "imputed_value_floats:floats imputed_value_int64s:ints replaced_value_float:float "
     "replaced_value_int64:int"},
    {"ai.onnx.ml", "LabelEncoder", 1, "X", "Y", "classes_strings:texts default_int64:int default_string:text"},
    {"ai.onnx.ml", "LabelEncoder", 2, "X", "Y",
     "default_float:float default_int64:int default_string:text keys_floats:floats "
     "keys_int64s:ints keys_strings:texts values_floats:floats values_int64s:ints "
     "values_strings:texts"},
    {"ai.onnx.ml", "LabelEncoder", 4, "X", "Y",
     "default_float:float default_int64:int default_string:text default_tensor:tensor "
     "keys_floats:floats keys_int64s:ints keys_strings:texts keys_tensor:tensor "
     "values_floats:floats values_int64s:ints values_strings:texts values_tensor:tensor"},
    {"ai.onnx.ml", "LinearClassifier", 1, "X", "Y Z",
     "classlabels_ints:ints classlabels_strings:texts coefficients:floats! intercepts:floats "
     "multi_class:int post_transform:text"},
    {"ai.onnx.ml", "LinearRegressor", 1, "X", "Y",
     "coefficients:floats intercepts:floats post_transform:text targets:int"},
    {"ai.onnx.ml", "Normalizer", 1, "X", "Y", "norm:text"},
    {"ai.onnx.ml", "OneHotEncoder", 1, "X", "Y", "cats_int64s:ints cats_strings:texts zeros:int"},
    {"ai.onnx.ml", "SVMClassifier", 1, "X", "Y Z",
     "classlabels_ints:ints classlabels_strings:texts coefficients:floats kernel_params:floats "
     "kernel_type:text post_transform:text prob_a:floats prob_b:floats rho:floats "
     "support_vectors:floats vectors_per_class:ints"},
    {"ai.onnx.ml", "SVMRegressor", 1, "X", "Y",
     "coefficients:floats kernel_params:floats kernel_type:text n_supports:int one_class:int "
     "post_transform:text rho:floats support_vectors:floats"},
    {"ai.onnx.ml", "Scaler", 1, "X", "Y", "offset:floats scale:floats"},
    {"ai.onnx.ml", "TreeEnsemble", 5, "X", "Y",
     "aggregate_function:int leaf_targetids:ints! leaf_weights:tensor! membership_values:tensor "
     "n_targets:int nodes_falseleafs:ints! nodes_falsenodeids:ints! nodes_featureids:ints! "
     "nodes_hitrates:tensor nodes_missing_value_tracks_true:ints nodes_modes:tensor! "
     "nodes_splits:tensor! nodes_trueleafs:ints! nodes_truenodeids:ints! post_transform:int "
     "tree_roots:ints!"},
    {"ai.onnx.ml", "TreeEnsembleClassifier", 1, "X", "Y Z",
     "base_values:floats class_ids:ints class_nodeids:ints class_treeids:ints class_weights:floats "
     "classlabels_int64s:ints classlabels_strings:texts nodes_falsenodeids:ints "
     "nodes_featureids:ints nodes_hitrates:floats nodes_missing_value_tracks_true:ints "
     "nodes_modes:texts nodes_nodeids:ints nodes_treeids:ints nodes_truenodeids:ints "
     "nodes_values:floats post_transform:text"},
    {"ai.onnx.ml", "TreeEnsembleClassifier", 3, "X", "Y Z",
     "base_values:floats base_values_as_tensor:tensor class_ids:ints class_nodeids:ints "
     "class_treeids:ints class_weights:floats class_weights_as_tensor:tensor "
     "classlabels_int64s:ints classlabels_strings:texts nodes_falsenodeids:ints "
     "nodes_featureids:ints nodes_hitrates:floats nodes_hitrates_as_tensor:tensor "
     "nodes_missing_value_tracks_true:ints nodes_modes:texts nodes_nodeids:ints nodes_treeids:ints "
     "nodes_truenodeids:ints nodes_values:floats nodes_values_as_tensor:tensor post_transform:text"},
    {"ai.onnx.ml", "TreeEnsembleRegressor", 1, "X", "Y",
     "aggregate_function:text base_values:floats n_targets:int nodes_falsenodeids:ints "
     "nodes_featureids:ints nodes_hitrates:floats nodes_missing_value_tracks_true:ints "
     "nodes_modes:texts nodes_nodeids:ints nodes_treeids:ints nodes_truenodeids:ints "
     "nodes_values:floats post_transform:text target_ids:ints target_nodeids:ints "
     "target_treeids:ints target_weights:floats"},
    {"ai.onnx.ml", "TreeEnsembleRegressor", 3, "X", "Y",
     "aggregate_function:text base_values:floats base_values_as_tensor:tensor n_targets:int "
     "nodes_falsenodeids:ints nodes_featureids:ints nodes_hitrates:floats "
     "nodes_hitrates_as_tensor:tensor nodes_missing_value_tracks_true:ints nodes_modes:texts "
     "nodes_nodeids:ints nodes_treeids:ints nodes_truenodeids:ints nodes_values:floats "
     "nodes_values_as_tensor:tensor post_transform:text target_ids:ints target_nodeids:ints "
     "target_treeids:ints target_weights:floats target_weights_as_tensor:tensor"},
    {"ai.onnx.ml", "ZipMap", 1, "X", "Z", "classlabels_int64s:ints classlabels_strings:texts"},
};

} // namespace retro::ops
