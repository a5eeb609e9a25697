// Command multikueue runs the controllers by which Kueue reaches the clusters of its MultiKueueClusters, as Kueue runs them, and nothing else
// of it, until it is killed.
//
//	multikueue KUBECONFIG NAMESPACE PROVIDERS   PROVIDERS: a file with the credential providers, as in Kueue's own configuration
package main

import (
	"context"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	inventory "sigs.k8s.io/cluster-inventory-api/apis/v1alpha1"
	ctrl "sigs.k8s.io/controller-runtime"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	configapi "sigs.k8s.io/kueue/apis/config/v1beta2"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/controller/admissionchecks/multikueue"
	"sigs.k8s.io/kueue/pkg/features"
	"sigs.k8s.io/yaml"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: multikueue KUBECONFIG NAMESPACE PROVIDERS")
		os.Exit(2)
	}
	if err := run(ctrl.SetupSignalHandler(), os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig, namespace, providersFile string) error {
	ctrl.SetLogger(klog.NewKlogr())
	given, err := os.ReadFile(providersFile)
	if err != nil {
		return err
	}
	var profiles configapi.ClusterProfile
	if err := yaml.UnmarshalStrict(given, &profiles); err != nil {
		return err
	}
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(map[string]bool{string(features.MultiKueueClusterProfile): true}); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(kueue.AddToScheme(scheme))
	utilruntime.Must(inventory.AddToScheme(scheme))
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:  scheme,
		Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		return err
	}
	if err := multikueue.SetupIndexer(ctx, manager.GetFieldIndexer(), namespace); err != nil {
		return err
	}
	if err := multikueue.SetupControllers(manager, namespace, multikueue.WithClusterProfiles(&profiles)); err != nil {
		return err
	}
	return manager.Start(ctx)
}
